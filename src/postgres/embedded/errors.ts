import { StateError } from "../../state/state-directory.ts";

/** The embedded database could not do what was asked. The message is for the operator: what happened, where the log is, what to do. */
export class ClusterError extends StateError {
  override name = "ClusterError";
}
