-- The end of a settled market that no side won alone, or whose outcome was corrected. What the others paid follows from their
-- positions and their pool. The outcome itself stands in book.
create table market_end (
  market_id      text    primary key,
  -- Positions that were paid, and what they were paid in all.
  payouts        integer not null,
  paid_micro     bigint  not null,
  -- The part of it that came from the house's fees.
  fees_micro     bigint  not null,
  -- What the treasury got; negative for what it added.
  treasury_micro bigint  not null,
  -- Why the market was voided at first.
  reason         text,
  -- JSON: each correction's outcome before and after, its time and its reason, oldest first.
  corrections    text    not null,
  version        bigint  not null,
  constraint market_end_pays check (payouts >= 0 and fees_micro between 0 and paid_micro)
);
