-- What a provider's refunds and disputes need to know of the payment that they take back.

-- One row per payment (a Stripe payment intent), from the first event about it. All amounts micro-dollars.
create table payment (
  provider             text   not null,
  reference            text   not null,
  -- Empty until an event names somebody.
  user_id              text   not null,
  credited_micro       bigint not null,
  -- What the provider says that it received; null while only the checkout has told.
  received_micro       bigint,
  -- Refunds counted one by one, and the running total that the provider states: the larger one counts.
  refunds_micro        bigint not null,
  refund_total_micro   bigint not null,
  refunds_failed_micro bigint not null,
  disputed_micro       bigint not null,
  disputes_won_micro   bigint not null,
  -- What all of this has taken back so far.
  taken_back_micro     bigint not null,
  version              bigint not null,
  primary key (provider, reference),
  constraint payment_amounts_not_negative check (least(credited_micro, received_micro, refunds_micro,
    refund_total_micro, refunds_failed_micro, disputed_micro, disputes_won_micro, taken_back_micro) >= 0),
  constraint payment_takes_back_at_most_credit check (taken_back_micro <= credited_micro),
  constraint payment_credits_somebody check (credited_micro = 0 or user_id <> '')
);

-- A receivable is what a user owes: money that a refund took from a wallet that no longer held it.
alter table account
  drop constraint account_never_overdrawn,
  add constraint account_never_overdrawn
    check (balance_micro >= 0 or id like 'external:%' or id like 'receivable:%');
