-- Texts that explain a market's rules. They are added in order and never change; the terms in market stay as they are.
create table clarification (
  market_id text    not null,
  -- 1 for the market's first text.
  position  integer not null,
  id        text    not null,
  text      text    not null,
  at        bigint  not null,
  primary key (market_id, position),
  constraint clarification_id_unique unique (id),
  constraint clarification_within_limit check (position between 1 and 20)
);
