-- Operators list the withdrawals of one user.
create index withdrawal_by_trader on withdrawal (trader_id, id);
