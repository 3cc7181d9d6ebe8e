-- The markets of a category by closing time, without a walk over those of all others.
create index market_by_category on market (category, close_at, id);
