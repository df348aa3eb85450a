import { aborted, type Connection, lost, pingInterval } from "./connection.ts";

/** A pool of kept-alive HTTP/1.1 connections, one per concurrent request. */
export async function http1Connection(server: URL, security: object): Promise<Connection> {
  const http = server.protocol === "http:" ? await import("node:http") : await import("node:https");
  const agent = new http.Agent({ keepAlive: true, keepAliveMsecs: pingInterval, ...security });
  return {
    usable: true,
    request({ method, path, headers, body, signal }) {
      return new Promise((resolve, reject) => {
        const request = http.request(
          { agent, method, path, headers, host: server.hostname.replace(/^\[|\]$/g, ""), port: server.port },
          (answer) => {
            const head: Record<string, string | readonly string[]> = {};
            for (const [name, values] of Object.entries(answer.headersDistinct))
              if (values !== undefined) head[name] = values.length === 1 ? (values[0] ?? "") : values;
            const cancel = (): void => {
              answer.destroy();
            };
            resolve({ status: answer.statusCode ?? 0, headers: head, body: answer, cancel });
          },
        );
        const stop = (): void => {
          request.destroy();
        };
        signal.addEventListener("abort", stop, { once: true });
        request.once("close", () => signal.removeEventListener("abort", stop));
        request.on("error", (error) => reject(signal.aborted ? aborted(signal) : lost(server, error)));
        request.end(body);
      });
    },
    close() {
      agent.destroy();
    },
  };
}
