-- The write path: one head row, journals that only grow, and rows guarded by a version.
-- Amounts are micro-dollars, shares micro-shares, instants milliseconds since the epoch.

-- The order of all commits. Swapping this row is the right to write; seq and hash are those of the last audit entry.
create table head (
  id    smallint primary key,
  seq   bigint   not null,
  hash  text     not null,
  epoch bigint   not null,
  ts    bigint   not null,
  constraint head_is_one_row check (id = 1),
  constraint head_hash_is_hmac check (length(hash) = 64)
) with (fillfactor = 10);
insert into head (id, seq, hash, epoch, ts) values (1, 0, repeat('0', 64), 0, 0);

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
  constraint tenant_is_one_row check (id = 1)
);

create table account (
  id            text   primary key,
  balance_micro bigint not null,
  version       bigint not null,
  constraint account_never_overdrawn check (balance_micro >= 0 or id like 'external:%')
) with (fillfactor = 70);

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
  constraint market_kind_known check (kind in ('cpmm', 'lmsr')),
  constraint market_p0_inside check (p0_ppm between 1000 and 999000),
  constraint market_house_not_short check (house_yes_micro >= 0 and house_no_micro >= 0)
);

-- The changing half of a market, narrow because every trade on it writes a new version.
create table book (
  market_id    text   primary key,
  status       text   not null,
  yes_micro    bigint not null,
  no_micro     bigint not null,
  volume_micro bigint not null,
  outcome      text,
  settled_at   bigint,
  version      bigint not null,
  constraint book_status_known check (status in ('open', 'suspended', 'settled')),
  constraint book_pool_not_empty check (yes_micro > 0 and no_micro > 0),
  constraint book_outcome_when_settled check ((status = 'settled') = (outcome is not null and settled_at is not null))
) with (fillfactor = 50);

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
  constraint trader_kyc_known check (kyc in ('unverified', 'verified', 'rejected')),
  constraint trader_score_in_range check (suitability_score between 0 and 20)
);

create table position (
  trader_id    text   not null,
  market_id    text   not null,
  side         text   not null,
  shares_micro bigint not null,
  cost_micro   bigint not null,
  version      bigint not null,
  primary key (trader_id, market_id, side),
  constraint position_side_known check (side in ('yes', 'no')),
  constraint position_not_short check (shares_micro >= 0 and cost_micro >= 0)
) with (fillfactor = 70);
create index position_by_market on position (market_id);

-- The journal of shares: what each trade moved from the pool to a trader. seq is its audit entry's.
create table trade (
  seq           bigint  primary key,
  id            text    not null,
  market_id     text    not null,
  trader_id     text    not null,
  side          text    not null,
  amount_micro  bigint  not null,
  fee_micro     bigint  not null,
  shares_micro  bigint  not null,
  yes_price_ppm integer not null,
  ts            bigint  not null,
  constraint trade_id_unique unique (id),
  constraint trade_side_known check (side in ('yes', 'no')),
  constraint trade_spends_more_than_fee check (amount_micro > fee_micro and fee_micro >= 0)
);

-- Hourly rollup: 24-hour volume, trending and price history never scan the trades.
create table market_hour (
  market_id     text    not null,
  hour          bigint  not null,
  volume_micro  bigint  not null,
  yes_price_ppm integer not null,
  primary key (market_id, hour)
) with (fillfactor = 70);
create index market_hour_recent on market_hour (hour);

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
  constraint api_key_type_known check (type in ('admin', 'public'))
);

-- Providers' events that moved money, kept for ever so that a repeat moves none.
create table receipt (
  provider     text   not null,
  reference    text   not null,
  amount_micro bigint not null,
  user_id      text   not null,
  primary key (provider, reference)
);

-- First results of requests that carried an Idempotency-Key, for 24 hours.
create table stored_answer (
  caller       text     not null,
  key          text     not null,
  request_hash text     not null,
  status       smallint not null,
  body         text     not null,
  created_at   bigint   not null,
  primary key (caller, key)
);
create index stored_answer_by_age on stored_answer (created_at);
