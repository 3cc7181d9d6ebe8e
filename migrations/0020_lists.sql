-- Lists of users go by their ids, and begin where one of these does: operators look for a standing, a place or a score among
-- all users. A trade writes none of these columns.
create index trader_by_state on trader ((case when restricted then 'restricted' else kyc end), id);
create index trader_by_jurisdiction on trader (jurisdiction, id) where jurisdiction is not null;
create index trader_by_score on trader (suitability_score, id) where suitability_score is not null;
