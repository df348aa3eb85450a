import { HealthMetrics, type HealthType } from "@dray/client";

/** A check of a component's health. */
export interface ComponentCheck {
  readonly name: string;
  /** Paths that make the check. */
  readonly types: readonly HealthType[];
  readonly passes: () => boolean;
}

export interface ComponentSources {
  /** Beside `ping`. */
  readonly checks: readonly ComponentCheck[];
  /** In the text format of Prometheus. */
  readonly metrics: () => string;
}

/** The response to a request. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type: string;
}

const plainType = "text/plain; charset=utf-8";
const metricsType = "text/plain; version=0.0.4; charset=utf-8";
const healthTypes = ["healthz", "livez", "readyz"] as const;
/** Everybody may read these paths (`--authorization-always-allow-paths` upstream). */
const openPaths: ReadonlySet<string> = new Set(healthTypes.map((type) => `/${type}`));

/** Reports whether a path needs no right. */
export const isOpen = (path: string): boolean => openPaths.has(path);

/** URL of the target of a request; undefined if it is not one, such as `http://[`. */
export function parseTarget(target: string): URL | undefined {
  const base = "http://localhost";
  return URL.canParse(target, base) ? new URL(target, base) : undefined;
}

/**
 * `/healthz`, `/livez`, `/readyz`, `/metrics` and `/metrics/slis` of a scheduler or controller manager.
 *
 * Upstream: cmd/kube-scheduler/app/server.go, newHealthEndpointsAndMetricsHandler.
 */
export class ComponentEndpoints {
  readonly #checks: readonly ComponentCheck[];
  readonly #metrics: () => string;
  readonly #health = new HealthMetrics();

  constructor({ checks, metrics }: ComponentSources) {
    this.#checks = [{ name: "ping", types: healthTypes, passes: () => true }, ...checks];
    this.#metrics = metrics;
  }

  answer(method: string, target: string): Answer {
    const url = parseTarget(target);
    if (url === undefined) return plainAnswer(400, "400 Bad Request\n");
    const { pathname, searchParams } = url;
    if (method !== "GET" && method !== "HEAD") return plainAnswer(405, "method not allowed\n");
    if (pathname === "/metrics") return { status: 200, text: this.#metrics(), type: metricsType };
    if (pathname === "/metrics/slis") return { status: 200, text: this.#slis(), type: metricsType };
    const type = healthTypes.find((one) => pathname === `/${one}`);
    return type === undefined
      ? plainAnswer(404, "404 page not found\n")
      : this.#healthOf(type, searchParams.has("verbose"));
  }

  #healthOf(type: HealthType, verbose: boolean): Answer {
    const results = this.#run(type);
    const failed = results.some(({ passes }) => !passes);
    if (!failed && !verbose) return plainAnswer(200, "ok");
    const lines = results.map(({ name, passes }) =>
      passes ? `[+]${name} ok` : `[-]${name} failed: reason withheld`,
    );
    return plainAnswer(
      failed ? 500 : 200,
      `${lines.join("\n")}\n${type} check ${failed ? "failed" : "passed"}\n`,
    );
  }

  /** The checks are made for it, so that it does not depend on others who ask. */
  #slis(): string {
    for (const type of healthTypes) this.#run(type);
    return this.#health.text();
  }

  #run(type: HealthType): { readonly name: string; readonly passes: boolean }[] {
    return this.#checks
      .filter(({ types }) => types.includes(type))
      .map(({ name, passes: check }) => {
        const passes = check();
        this.#health.observe(name, type, passes);
        return { name, passes };
      });
  }
}

export function plainAnswer(status: number, text: string): Answer {
  return { status, text, type: plainType };
}
