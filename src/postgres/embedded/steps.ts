import { ClusterError } from "./errors.ts";

/** Names the step that begins now. @throws ClusterError if the work was given up in an earlier step */
export type Begin = (step: string) => void;

/**
 * Runs work that reports its steps, and gives up if one step takes longer than the limit. Otherwise a disk that does
 * not answer, a stopped process or a missing event would block a command for ever, and with it the lock that all other
 * commands wait for. Abandoned work ends at its next step, because another command may have the lock by then.
 * @throws ClusterError that names the step
 */
export async function inSteps<T>(limitMs: number, what: string, work: (begin: Begin) => Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  let failure: ClusterError | undefined;
  let timer: NodeJS.Timeout | undefined;
  const begin: Begin = (step) => {
    if (failure) throw failure;
    clearTimeout(timer);
    timer = setTimeout(() => {
      failure = new ClusterError(
        `${what}: gave up after ${limitMs / 1000} s of ${step}. Look for a disk that does not answer and for processes that are stopped (state D or T in \`ps -ef -o pid,state,args\`), then try again.`,
      );
      reject(failure);
    }, limitMs);
  };
  try {
    return await Promise.race([overdue, work(begin)]);
  } finally {
    clearTimeout(timer);
  }
}
