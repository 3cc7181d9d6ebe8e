-- Sells, hedge tags, assessments and withdrawals.

-- A sell's shares are negative, as the pool takes them back; its amount is what they brought, before the fee.
alter table trade add column released_micro bigint;
alter table trade add constraint trade_sell_releases_cost check ((shares_micro < 0) = (released_micro is not null));
alter table trade add constraint trade_moves_shares check (shares_micro <> 0);
create index trade_by_trader on trade (trader_id, seq);

-- Tags of trades that hedge a position held elsewhere. A table of their own: the trades that carry none pay nothing.
create table hedge (
  seq            bigint primary key,
  market_id      text   not null,
  symbol         text   not null,
  direction      text   not null,
  notional_minor bigint not null,
  external_ref   text   not null,
  constraint hedge_direction_known check (direction in ('long', 'short')),
  constraint hedge_notional_positive check (notional_minor > 0)
);
create index hedge_by_market on hedge (market_id);

-- Every suitability assessment; the trader's row holds what the last one came to.
create table assessment (
  id           text     primary key,
  trader_id    text     not null,
  answers      text     not null,
  score        smallint not null,
  submitted_at bigint   not null,
  constraint assessment_score_in_range check (score between 0 and 20)
);
create index assessment_by_trader on assessment (trader_id, id);

create table withdrawal (
  id           text   primary key,
  trader_id    text   not null,
  amount_micro bigint not null,
  status       text   not null,
  created_at   bigint not null,
  decided_at   bigint,
  version      bigint not null,
  constraint withdrawal_is_positive check (amount_micro > 0),
  constraint withdrawal_status_known check (status in ('pending', 'approved', 'rejected')),
  constraint withdrawal_decided_once check ((status = 'pending') = (decided_at is null))
);
create index withdrawal_by_status on withdrawal (status, id);

-- A wallet's statement. Purchases, which are most of the transfers, are found by the trader's trades instead.
create index transfer_into_wallet on transfer (credit, seq) where credit like 'wallet:%';
create index transfer_out_of_wallet on transfer (debit, seq)
  where debit like 'wallet:%' and credit not like 'escrow:%' and credit <> 'fees';
