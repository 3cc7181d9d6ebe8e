/**
 * The actor of what a server does by itself: closings, ends of overrides, holds and resolutions,
 * and proposals whose time has come.
 */
export const SYSTEM_ACTOR = "oracle";
