-- The tables of a tenant, in SQL that any database reads. Amounts are micro-dollars, shares micro-shares, instants milliseconds
-- since the epoch. What PostgreSQL alone has stands in 0002.

-- The order of all commits. Swapping this row is the right to write; seq and hash are those of the last audit entry.
create table head (
  id    smallint primary key,
  seq   bigint   not null,
  hash  text     not null,
  epoch bigint   not null,
  ts    bigint   not null,
  constraint head_is_one_row check (id = 1),
  constraint head_hash_is_hmac check (length(hash) = 64)
);
insert into head (id, seq, hash, epoch, ts) values (1, 0, repeat('0', 64), 0, 0);

-- Processes that write at the same time take turns: each holds a lock on this row for several batches. The head decides who
-- writes, so nothing is wrong without it.
create table turn (
  id smallint primary key,
  constraint turn_is_one_row check (id = 1)
);
insert into turn (id) values (1);

-- What apply and PUT /v1/policy set.
create table tenant (
  id                smallint primary key,
  policy            text     not null,
  policy_updated_at bigint   not null,
  kyc_required      boolean  not null,
  liquidity_micro   bigint   not null,
  capital_micro     bigint   not null,
  document          text     not null,
  version           bigint   not null,
  -- JSON: what holds over the policy's own values, and until when.
  overrides         text     not null,
  constraint tenant_is_one_row check (id = 1)
);

-- A receivable is what a user owes: money that a refund took from a wallet that no longer held it.
create table account (
  id            text   primary key,
  balance_micro bigint not null,
  version       bigint not null,
  constraint account_never_overdrawn
    check (balance_micro >= 0 or id like 'external:%' or id like 'receivable:%')
);

-- Double entry by construction: a row takes from one account what it gives to another.
create table transfer (
  seq          bigint   not null,
  leg          integer  not null,
  debit        text     not null,
  credit       text     not null,
  amount_micro bigint   not null,
  primary key (seq, leg),
  constraint transfer_is_positive check (amount_micro > 0),
  constraint transfer_has_two_accounts check (debit <> credit)
);

-- The terms of a market, fixed at creation.
create table market (
  id              text   primary key,
  question        text   not null,
  category        text   not null,
  kind            text   not null,
  p0_ppm          integer not null,
  fund_micro      bigint not null,
  close_at        bigint not null,
  resolution_ref  text   not null,
  meta            text   not null,
  created_at      bigint not null,
  house_yes_micro bigint not null,
  house_no_micro  bigint not null,
  -- A file creates its market once; the key says that it did.
  file_key        text,
  -- Parsed terms as canonical JSON; null for references that a person settles.
  terms           text,
  constraint market_kind_known check (kind in ('cpmm', 'lmsr')),
  constraint market_p0_inside check (p0_ppm between 1000 and 999000),
  constraint market_house_not_short check (house_yes_micro >= 0 and house_no_micro >= 0)
);
create index market_by_closing on market (close_at, id);

-- The changing half of a market, narrow because every trade on it writes a new version.
create table book (
  market_id         text    primary key,
  status            text    not null,
  yes_micro         bigint  not null,
  no_micro          bigint  not null,
  volume_micro      bigint  not null,
  outcome           text,
  settled_at        bigint,
  version           bigint  not null,
  -- Whether the audit log says that the market closed, so that it is written once and never for a market that was settled before.
  closing_recorded  boolean not null,
  -- The hour of the last trade, what was traded in it, and the last price; 0 before the first trade. The sums of the running
  -- hour lie here, in a row that each trade writes anyway, and go to market_hour with the first trade of a later hour.
  hour              bigint  not null,
  hour_volume_micro bigint  not null,
  hour_fee_micro    bigint  not null,
  yes_price_ppm     integer not null,
  constraint book_status_known check (status in ('open', 'suspended', 'settled')),
  constraint book_pool_not_empty check (yes_micro > 0 and no_micro > 0),
  constraint book_outcome_when_settled check ((status = 'settled') = (outcome is not null and settled_at is not null))
);
create index book_by_hour on book (hour);

create table trader (
  id                text    primary key,
  kyc               text    not null,
  restricted        boolean not null,
  jurisdiction      text,
  kyc_at            bigint,
  suitability_score smallint,
  suitability_at    bigint,
  created_at        bigint  not null,
  version           bigint  not null,
  constraint trader_kyc_known check (kyc in ('unverified', 'verified', 'rejected', 'review')),
  constraint trader_score_in_range check (suitability_score between 0 and 20)
);

create table position (
  trader_id          text    not null,
  market_id          text    not null,
  side               text    not null,
  -- Both stay as they were when the market is settled.
  shares_micro       bigint  not null,
  cost_micro         bigint  not null,
  version            bigint  not null,
  -- The day of the position's last trade and what was traded of its side on it; it goes to trader_day with the first trade of a
  -- later day.
  day                bigint  not null,
  day_volume_micro   bigint  not null,
  day_trades         integer not null,
  day_realized_micro bigint  not null,
  primary key (trader_id, market_id, side),
  constraint position_side_known check (side in ('yes', 'no')),
  constraint position_not_short check (shares_micro >= 0 and cost_micro >= 0)
);
create index position_by_market on position (market_id);
create index position_by_day on position (day);

-- The journal of shares: what each trade moved from the pool to a trader. seq is its audit entry's. A sell's shares are negative,
-- as the pool takes them back; its amount is what they brought, before the fee.
create table trade (
  seq            bigint  primary key,
  id             text    not null,
  market_id      text    not null,
  trader_id      text    not null,
  side           text    not null,
  amount_micro   bigint  not null,
  fee_micro      bigint  not null,
  shares_micro   bigint  not null,
  yes_price_ppm  integer not null,
  ts             bigint  not null,
  -- The part of the position's cost that a sell gives up.
  released_micro bigint,
  constraint trade_id_unique unique (id),
  constraint trade_side_known check (side in ('yes', 'no')),
  constraint trade_spends_more_than_fee check (amount_micro > fee_micro and fee_micro >= 0),
  constraint trade_moves_shares check (shares_micro <> 0),
  constraint trade_sell_releases_cost check ((shares_micro < 0) = (released_micro is not null))
);
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

-- Rollups of the reports, written in the same statement as what they count, so that no report scans a table that grows
-- with every trade. Days are UTC days, by the instant at which they begin.

-- Hours that are over: 24-hour volume, trending and price history never scan the trades.
create table market_hour (
  market_id     text    not null,
  hour          bigint  not null,
  volume_micro  bigint  not null,
  yes_price_ppm integer not null,
  fee_micro     bigint  not null,
  primary key (market_id, hour)
);
create index market_hour_recent on market_hour (hour);

-- A trader on a market on a day, however often it traded. realized_micro is what its sales brought over their cost.
create table trader_day (
  day            bigint  not null,
  trader_id      text    not null,
  market_id      text    not null,
  volume_micro   bigint  not null,
  trades         integer not null,
  realized_micro bigint  not null,
  primary key (day, trader_id, market_id)
);

-- Money from and to users through a provider; the house's own capital is not funding.
create table funding_day (
  day           bigint not null,
  provider      text   not null,
  inflow_micro  bigint not null,
  outflow_micro bigint not null,
  primary key (day, provider),
  constraint funding_day_not_negative check (inflow_micro >= 0 and outflow_micro >= 0)
);

create table audit (
  seq     bigint primary key,
  type    text   not null,
  actor   text   not null,
  payload text   not null,
  ts      text   not null,
  key_id  text   not null,
  hash    text   not null
);

create table api_key (
  hash       text   primary key,
  name       text   not null,
  type       text   not null,
  created_at bigint not null,
  expires_at bigint,
  version    bigint not null,
  -- What the key may do and the networks that it works from, as lists apart by spaces.
  scopes     text   not null,
  networks   text   not null,
  -- Ended because its value leaked: no key may have this value again. Such rows are kept for ever.
  leaked     boolean not null default false,
  constraint api_key_type_known check (type in ('admin', 'public'))
);

-- When each key was last used, to the minute. Apart from the keys, so that no use moves a key's version.
create table key_use (
  hash         text   primary key,
  last_used_at bigint not null
);

-- Providers' events that moved money, kept for ever so that a repeat moves none.
create table receipt (
  provider     text   not null,
  reference    text   not null,
  amount_micro bigint not null,
  user_id      text   not null,
  -- By the audit key, over the row: see docs/security.md.
  seal         text   not null,
  primary key (provider, reference)
);

-- What a provider's refunds and disputes need to know of the payment that they take back: one row per payment (a Stripe payment
-- intent), from the first event about it.
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

-- What providers have delivered, for ever, in the same commit as its effect. A repeat of the same bytes changes nothing.
create table inbound_delivery (
  -- `payments`, `stripe`, or `kyc:` with the provider's own name.
  provider    text   not null,
  -- Of the raw body, which may hold personal data and is not kept.
  sha256      text   not null,
  event       text   not null,
  -- The event's own identifier or its reference, and whom it names, as far as it says.
  reference   text,
  user_id     text,
  -- Types of the audit entries that it caused, `kept`, or `no effect`.
  outcome     text   not null,
  -- The raw body of an event that is only kept, up to 64 KiB.
  body        text,
  received_at bigint not null,
  seal        text   not null,
  primary key (provider, sha256),
  constraint inbound_delivery_hash_is_sha256 check (length(sha256) = 64)
);

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

-- First results of requests that carried an Idempotency-Key, for 24 hours.
create table stored_answer (
  caller       text     not null,
  key          text     not null,
  request_hash text     not null,
  status       smallint not null,
  body         text     not null,
  created_at   bigint   not null,
  seal         text     not null,
  primary key (caller, key)
);
create index stored_answer_by_age on stored_answer (created_at);

-- What the edge refused and noticed: one row per event, reason, address and minute, whose key `id` is made of these, so that
-- several servers add to one count. It is no part of the audit log, and nothing decides by it.
create table security_event (
  id          text   primary key,
  ts          bigint not null,
  event       text   not null,
  reason      text   not null,
  address     text,
  fingerprint text,
  key_name    text,
  route       text,
  count       bigint not null,
  constraint security_event_count_check check (count > 0)
);
create index security_event_by_time on security_event (ts desc, id desc);
create index security_event_by_event on security_event (event, ts desc, id desc);

-- Outgoing webhooks. What happened stands in the audit log; here is only how far each receiver has been told.
create table webhook_receiver (
  name         text    primary key,
  -- The last audit entry whose events have become deliveries. A new receiver begins at the head.
  position     bigint  not null,
  -- Hash of its address and events: a receiver that was changed is tried again.
  fingerprint  text    not null,
  -- Since when it wants nothing more (410); null while it is served.
  disabled_at  bigint,
  -- Attempts that failed since the last one that did not. From some number on, fresh events wait until paused_until.
  failures     integer not null default 0,
  paused_until bigint  not null default 0
);

-- One event for one receiver. The delivery's bytes are made from the audit entry, seq, at each attempt.
create table webhook_delivery (
  receiver        text    not null,
  event_id        text    not null,
  seq             bigint  not null,
  type            text    not null,
  status          text    not null,
  attempts        integer not null,
  created_at      bigint  not null,
  -- When it is due. While an attempt is under way, when that counts as lost and anybody may make the next one.
  next_attempt_at bigint  not null,
  last_attempt_at bigint,
  -- Of the last answer: its status, null when none came, and its beginning or what went wrong.
  last_status     integer,
  last_excerpt    text,
  primary key (receiver, event_id),
  constraint webhook_delivery_status_known check (status in ('pending', 'delivered', 'dead'))
);
create index webhook_delivery_by_seq on webhook_delivery (seq, receiver);
create index webhook_delivery_by_age on webhook_delivery (created_at);

-- The oracle: one row per market that a machine settles, until it is settled; trades never touch it.
create table oracle_watch (
  market_id  text    primary key,
  -- The instant whose price decides.
  instant_at bigint  not null,
  -- Whether the reference was parsed; the others are here because resolution_url was asked about them.
  parsed     boolean not null,
  settled    boolean not null,
  -- Why the market is held, in one word and in detail, and since when.
  reason     text,
  detail     text,
  held_at    bigint,
  version    bigint  not null,
  constraint oracle_watch_hold_is_whole check ((reason is null) = (held_at is null) and (reason is null) = (detail is null))
);

-- What sources have shown. The first price of an observation stays: a later revision changes nothing.
create table oracle_tick (
  source       text   not null,
  symbol       text   not null,
  observed_at  bigint not null,
  price        text   not null,
  conf         text,
  received_at  bigint not null,
  -- When the source was asked last and still showed this: proof that nothing newer was there.
  confirmed_at bigint not null,
  -- By the audit key: over the observation, and over when it was confirmed last, which moves by itself.
  seal         text   not null,
  confirmed_seal text not null,
  primary key (source, symbol, observed_at)
);
create index oracle_tick_by_age on oracle_tick (received_at);

-- When any process has swept last; null before the first sweep.
create table oracle_sweep (
  id       smallint primary key,
  swept_at bigint,
  constraint oracle_sweep_is_one_row check (id = 1)
);
insert into oracle_sweep (id, swept_at) values (1, null);
