-- The oracle: what markets were promised to be decided by, what feeds have shown, and which markets wait for a price.

-- Parsed terms as canonical JSON, fixed at creation; null for references that a person settles.
alter table market add column terms text;

-- One row per market that a machine settles, until it is settled; trades never touch it.
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
) with (fillfactor = 70);
-- A sweep with nothing due reads nothing of it, however many markets are open.
create index oracle_watch_due on oracle_watch (instant_at, market_id) where parsed and not settled;
create index oracle_watch_held on oracle_watch (held_at, market_id) where reason is not null and not settled;

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
  primary key (source, symbol, observed_at)
);
create index oracle_tick_by_age on oracle_tick (received_at);

-- When any process has swept last; the time of this migration before the first sweep.
create table oracle_sweep (
  id       smallint primary key,
  swept_at bigint   not null,
  constraint oracle_sweep_is_one_row check (id = 1)
);
insert into oracle_sweep (id, swept_at) values (1, floor(extract(epoch from clock_timestamp()) * 1000)::bigint);

-- The latest resolutions are found without reading the log.
create index audit_oracle_resolved on audit (seq) where type = 'oracle.resolved';
