import { StateError } from "../../state/state-directory.ts";

/** An error of the embedded database. The message tells the operator what happened, where the log is, and what to do. */
export class ClusterError extends StateError {
  override name = "ClusterError";
}
