-- Which positions were sold from since a purchase was tagged, for the hedge book. Purchases pay nothing for it.
create index trade_sold on trade (trader_id, market_id, side, seq) where released_micro is not null;
