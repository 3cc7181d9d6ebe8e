-- The log by the market and by the user that an entry names, each type apart. Trades pay for neither: their own table finds them.
create index audit_by_market on audit ((audit_json(payload) ->> 'marketId'), type, seq)
  where type <> 'trade.executed' and audit_json(payload) ->> 'marketId' is not null;
create index audit_by_user on audit ((audit_json(payload) ->> 'userId'), type, seq)
  where type <> 'trade.executed' and audit_json(payload) ->> 'userId' is not null;
-- A proposal names the user in what its operation answered.
create index audit_answer_of_user on audit ((audit_json(payload) #>> '{result,userId}'), seq)
  where type = 'proposal.executed';

-- The two serve what these served.
drop index audit_of_user, audit_of_session, audit_of_named_market, audit_resolution_of_market;
