-- Whether the audit log says that the market closed. The book knows, so that it is written once and never for a market
-- that was settled before.
alter table book add column closing_recorded boolean not null default false;

-- What the sweep reads: markets not settled whose closing is not on record. Trades change none of it, so they stay
-- updates within the page.
create index book_closing_open on book (market_id) where status <> 'settled' and not closing_recorded;
