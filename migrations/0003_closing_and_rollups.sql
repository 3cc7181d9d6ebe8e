-- Whether the audit log says that the market closed. The book knows, so that it is written once and never for a market
-- that was settled before.
alter table book add column closing_recorded boolean not null default false;

-- Markets that still matter: the sweep for closings, risk and open positions need not pass the settled ones. Trades
-- change nothing in it, so they stay updates within the page.
create index book_unsettled on book (market_id) where status <> 'settled';

-- Rollups of the reports, written in the same statement as what they count, so that no report scans a table that grows
-- with every trade. Days are UTC days, by the instant at which they begin.

alter table market_hour add column fee_micro bigint not null default 0;
update market_hour h
   set fee_micro = t.fee_micro
  from (select market_id, ts - ts % 3600000 as hour, sum(fee_micro) as fee_micro from trade group by 1, 2) t
 where t.market_id = h.market_id and t.hour = h.hour;

-- A trader on a market on a day, however often it traded. realized_micro is what its sales brought over their cost.
create table trader_day (
  day            bigint  not null,
  trader_id      text    not null,
  market_id      text    not null,
  volume_micro   bigint  not null,
  trades         integer not null,
  realized_micro bigint  not null default 0,
  primary key (day, trader_id, market_id)
) with (fillfactor = 70);
insert into trader_day (day, trader_id, market_id, volume_micro, trades)
select ts - ts % 86400000, trader_id, market_id, sum(amount_micro), count(*) from trade group by 1, 2, 3;

-- Money from and to users through a provider; the house's own capital is not funding.
create table funding_day (
  day           bigint not null,
  provider      text   not null,
  inflow_micro  bigint not null,
  outflow_micro bigint not null,
  primary key (day, provider),
  constraint funding_day_not_negative check (inflow_micro >= 0 and outflow_micro >= 0)
) with (fillfactor = 70);
insert into funding_day (day, provider, inflow_micro, outflow_micro)
select day, substr(account, 10), sum(inflow), sum(outflow)
  from (select a.ms - a.ms % 86400000 as day, leg.account, leg.inflow, leg.outflow
          from transfer t
          join (select seq, floor(extract(epoch from ts::timestamptz) * 1000)::bigint as ms from audit) a on a.seq = t.seq
         cross join lateral (values (t.debit, t.amount_micro, 0), (t.credit, 0, t.amount_micro))
               as leg (account, inflow, outflow)
         where leg.account like 'external:%' and leg.account <> 'external:capital') moved
 group by 1, 2;

create index book_by_settlement on book (settled_at) where settled_at is not null;
create index account_pending on account (id) where id like 'pending:%';
