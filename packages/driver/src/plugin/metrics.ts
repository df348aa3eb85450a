import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { publicHostName } from "@dray/client";
import type { Claims } from "../claims/claims.ts";
import type { SliceStatistics } from "../slices/publisher.ts";

export interface MetricsOptions {
  readonly host: string;
  /** 0: any free one; see `onListening`. */
  readonly port: number;
  /** Called with `host:port`. */
  readonly onListening?: (address: string) => void;
  /** Called for each claim that the kubelet has asked to be prepared or unprepared, when that is over. */
  readonly onClaim?: (operation: ClaimOperation) => void;
  /** Metrics of the driver's own, in the text format of Prometheus: served below those of the SDK. */
  readonly more?: () => string;
}

/** One call of the kubelet for one claim. */
export interface ClaimOperation {
  readonly operation: Operation;
  /** Undefined: it succeeded. */
  readonly error?: unknown;
  readonly seconds: number;
}

export type Operation = "prepare" | "unprepare";

/** Metrics of a driver. */
export interface Metrics {
  /** Runs what the kubelet asks for one claim, and counts it. */
  count<T>(operation: Operation, run: () => Promise<T>): Promise<T>;
  slices: () => SliceStatistics;
  /** Whether the kubelet has accepted the registration. */
  registered: boolean;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

export interface ElapsedTime {
  /** Milliseconds from any point on, with fractions; never goes back. */
  elapsed(): number;
}

/** Upper bounds in seconds: a prepare may take up to the 45 s that the kubelet gives it. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 45] as const;

interface Counts {
  total: number;
  errors: number;
  inFlight: number;
  seconds: number;
  readonly buckets: number[];
}

const emptyCounts = (): Counts => ({
  total: 0,
  errors: 0,
  inFlight: 0,
  seconds: 0,
  buckets: bounds.map(() => 0),
});

/**
 * The Go helper has no metrics of its own. The names are those of kubernetes-sigs/dra-driver-nvidia-gpu
 * without its prefix: `dra_requests_total` for `nvidia_dra_requests_total`.
 */
export function createMetrics(
  driver: string,
  node: string,
  claims: Pick<Claims, "preparedDevices">,
  { onClaim, more, elapsed }: Pick<MetricsOptions, "onClaim" | "more"> & ElapsedTime,
): Metrics {
  const operations: Record<Operation, Counts> = { prepare: emptyCounts(), unprepare: emptyCounts() };
  const all = Object.entries(operations);
  const metrics: Metrics = {
    slices: () => ({ creates: 0, updates: 0, deletes: 0 }),
    registered: false,
    async count(operation, run) {
      const counts = operations[operation];
      const begun = elapsed();
      counts.inFlight++;
      let failure: { readonly error?: unknown } = {};
      try {
        return await run();
      } catch (error) {
        counts.errors++;
        failure = { error };
        throw error;
      } finally {
        const seconds = (elapsed() - begun) / 1000;
        onClaim?.({ operation, ...failure, seconds });
        counts.inFlight--;
        counts.total++;
        counts.seconds += seconds;
        for (const [i, bound] of bounds.entries()) if (seconds <= bound) counts.buckets[i]!++;
      }
    },
    async text() {
      const { claims: preparedClaims, devices } = await claims.preparedDevices();
      const { creates, updates, deletes } = metrics.slices();
      const perOperation = (value: (counts: Counts) => number): Sample[] =>
        all.map(([operation, counts]) => [{ operation }, value(counts)]);
      const lines = [
        family(
          "dra_requests_total",
          "counter",
          "Claims that the kubelet has asked to be prepared or unprepared.",
          [...perOperation((counts) => counts.total)],
        ),
        histogram(),
        family("dra_requests_inflight", "gauge", "Claims that are being prepared or unprepared.", [
          ...perOperation((counts) => counts.inFlight),
        ]),
        family("dra_node_prepare_errors_total", "counter", "Claims that could not be prepared.", [
          [{}, operations.prepare.errors],
        ]),
        family("dra_node_unprepare_errors_total", "counter", "Claims that could not be unprepared.", [
          [{}, operations.unprepare.errors],
        ]),
        family("dra_prepared_claims", "gauge", "Claims that have something to undo.", [
          [{ node }, preparedClaims],
        ]),
        family("dra_prepared_devices", "gauge", "Devices of prepared claims.", [[{ node }, devices]]),
        family("dra_registered", "gauge", "1 if the kubelet has accepted the registration.", [
          [{ node }, metrics.registered ? 1 : 0],
        ]),
        family("dra_resource_slice_writes_total", "counter", "Writes of ResourceSlices that succeeded.", [
          [{ verb: "create" }, creates],
          [{ verb: "update" }, updates],
          [{ verb: "delete" }, deletes],
        ]),
      ];
      return lines.join("") + (more?.() ?? "");
    },
  };
  return metrics;

  function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
    const head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    return head + samples.map(([labels, value]) => sample(name, labels, value)).join("");
  }

  function histogram(): string {
    const name = "dra_request_duration_seconds";
    const lines = all.flatMap(([operation, { total, seconds, buckets }]) => [
      ...bounds.map((le, i) => sample(`${name}_bucket`, { operation, le: String(le) }, buckets[i]!)),
      sample(`${name}_bucket`, { operation, le: "+Inf" }, total),
      sample(`${name}_sum`, { operation }, seconds),
      sample(`${name}_count`, { operation }, total),
    ]);
    const help = "Time from the kubelet's call to the answer for one claim.";
    return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${lines.join("")}`;
  }

  function sample(name: string, labels: Labels, value: number): string {
    const shown = Object.entries({ driver, ...labels }).map(([key, one]) => `${key}="${escaped(one)}"`);
    return `${name}{${shown.join(",")}} ${value}\n`;
  }
}

type Labels = Readonly<Record<string, string>>;
type Sample = readonly [labels: Labels, value: number];

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`));
}

/** Serves `/metrics` over HTTP until it is closed. */
export async function serveMetrics(
  { host, port, onListening }: MetricsOptions,
  metrics: Pick<Metrics, "text">,
): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const foreign = publicHostName(request);
    if (foreign !== undefined) {
      response.writeHead(421, { "content-type": "text/plain; charset=utf-8" }).end(foreign);
      return;
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.writeHead(405, { allow: "GET, HEAD" }).end();
      return;
    }
    if (request.url?.split("?")[0] !== "/metrics") {
      response.writeHead(404, { "content-type": "text/plain" }).end("ask for /metrics\n");
      return;
    }
    metrics.text().then(
      (text) =>
        response.writeHead(200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" }).end(text),
      (error: Error) => response.writeHead(500, { "content-type": "text/plain" }).end(`${error.message}\n`),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(new Error(`cannot serve metrics on ${host}:${port}: ${error.message}`)),
    );
    server.listen(port, host, resolve);
  });
  const { address, family, port: bound } = server.address() as AddressInfo;
  onListening?.(family === "IPv6" ? `[${address}]:${bound}` : `${address}:${bound}`);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
