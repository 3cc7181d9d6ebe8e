import { KYC_STATES } from "../domain/trader.ts";

/** The media type of an answer in lines of JSON. */
export const AUDIT_LINES = "application/x-ndjson";

/** The most markets of one request for recent prices: a full page of the list. */
export const RECENT_MARKETS = 200;

/** The most markets in a snapshot and in a filter of the stream. */
export const STREAM_MARKETS = 500;

/** The states of a user. */
export const USER_STATES = [...KYC_STATES, "restricted"] as const;

/** The longest override. Rules that must last longer belong in the tenant file. */
export const MAX_POLICY_TTL_SEC = 30 * 86_400;

/** Endpoints for webhooks in our own format. Each may have its own secrets. */
export const INBOUND_ENDPOINTS = ["kyc", "payments", "oracle"] as const;
export type InboundEndpoint = (typeof INBOUND_ENDPOINTS)[number];
