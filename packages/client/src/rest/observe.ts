import type { Transport } from "../transport/exchange.ts";
import { isWatch, type Send } from "./send.ts";

/** Observes the requests of a client, for metrics. */
export interface RequestObserver {
  /** Called after each attempt, with the status of its response or without a response. */
  attempt(method: string, status?: number): void;
  /**
   * Called when a request begins. The returned function is called when it has ended, with all its attempts;
   * not for watches and streams.
   */
  begin(method: string): () => void;
}

/** Observes each attempt. */
export function observeAttempts(transport: Transport, observer: RequestObserver): Transport {
  return {
    async request(request) {
      let status: number | undefined;
      try {
        const response = await transport.request(request);
        status = response.status;
        return response;
      } finally {
        observer.attempt(request.method, status);
      }
    },
    close: () => transport.close(),
  };
}

/** Observes each request, with its retries and the delays of the rate limiter. */
export function observeRequests(send: Send, observer: RequestObserver): Send {
  return async (method, url, request) => {
    if (request?.isStream || isWatch(method, url)) return send(method, url, request);
    const end = observer.begin(method);
    try {
      return await send(method, url, request);
    } finally {
      end();
    }
  };
}
