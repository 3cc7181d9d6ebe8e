-- The sums of a market's running hour lie in its book, and those of a trader's running day in the position: rows that each trade
-- writes anyway. They go to market_hour and trader_day when the first trade of a later hour or day arrives.

-- The hour of the last trade, what was traded in it, and the last price; 0 before the first trade.
alter table book
  add column hour              bigint  not null default 0,
  add column hour_volume_micro bigint  not null default 0,
  add column hour_fee_micro    bigint  not null default 0,
  add column yes_price_ppm     integer not null default 0;

-- A market's hour lies in one of the tables only, since the last price of two halves could not be told.
update book b
   set hour = h.hour, hour_volume_micro = h.volume_micro, hour_fee_micro = h.fee_micro, yes_price_ppm = h.yes_price_ppm
  from (select distinct on (market_id) * from market_hour order by market_id, hour desc) h
 where h.market_id = b.market_id;
delete from market_hour h using book b where b.market_id = h.market_id and b.hour = h.hour;

-- The day of the position's last trade and what was traded of its side on it.
alter table position
  add column day                bigint  not null default 0,
  add column day_volume_micro   bigint  not null default 0,
  add column day_trades         integer not null default 0,
  add column day_realized_micro bigint  not null default 0;

-- What was traded until now stays in trader_day, whose rows are only ever added up. It does not tell sides apart.
update position p
   set day = d.day
  from (select trader_id, market_id, max(day) as day from trader_day group by trader_id, market_id) d
 where d.trader_id = p.trader_id and d.market_id = p.market_id;

-- A server of an older version that still runs names none of these columns. Without a default its trades are refused: they
-- would go on adding to the tables of hours and days, and leave the running sums behind.
alter table book
  alter column hour              drop default,
  alter column hour_volume_micro drop default,
  alter column hour_fee_micro    drop default,
  alter column yes_price_ppm     drop default;
alter table position
  alter column day                drop default,
  alter column day_volume_micro   drop default,
  alter column day_trades         drop default,
  alter column day_realized_micro drop default;

-- They change once an hour and once a day, so that other updates stay within their page.
create index book_by_hour on book (hour);
create index position_by_day on position (day);
