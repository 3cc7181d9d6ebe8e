-- Whether the audit log says that the market closed. The book knows, so that it is written once and never for a market
-- that was settled before.
alter table book add column closing_recorded boolean not null default false;

-- Markets that still matter: the sweep for closings, risk and open positions need not pass the settled ones. Trades
-- change nothing in it, so they stay updates within the page.
create index book_unsettled on book (market_id) where status <> 'settled';
