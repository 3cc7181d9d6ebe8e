import { h } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Api } from "../../contract/operations.ts";
import { useDesk } from "../desk.ts";
import { Sentence } from "../parts/time.tsx";

/**
 * The answer to a question that a person asks by a button. A view that goes no longer waits for it.
 * @param question gets, beside the api, the headers of the latest answer
 */
export function useAnswer<Found>(question: (api: Api, headersOf: () => Headers) => Promise<Found>) {
  const desk = useDesk();
  const [found, setFound] = useState<Found>();
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<string>();
  const left = useMemo(() => new AbortController(), []);
  useEffect(() => () => left.abort(), []);
  const ask = async (): Promise<void> => {
    setAsking(true);
    setProblem(undefined);
    let latest = new Headers();
    const onHeaders = (headers: Headers): void => {
      latest = headers;
    };
    try {
      setFound(await question(desk.apiFor({ onHeaders, signal: left.signal }), () => latest));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : "Unexpected failure");
    } finally {
      setAsking(false);
    }
  };
  return { found, isAsking, problem: problem && h(Sentence, { of: problem }), ask: () => void ask() };
}
