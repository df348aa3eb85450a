import type { RequestInfo } from "./request/info.ts";
import type { Storage } from "./storage/storage.ts";

/** Counts what the server does, under the names of kube-apiserver. */
export class Metrics {
  readonly #requests = new Map<string, number>();
  readonly #durations = new Map<string, { sum: number; count: number }>();

  /** One request has been answered; `milliseconds` up to the beginning of the answer. */
  count(method: string, info: RequestInfo | undefined, code: number, milliseconds: number): void {
    const verb = info?.isResource ? info.verb.toUpperCase() : method;
    const labels = `code="${code}",group="${info?.group ?? ""}",resource="${safe(info?.resource)}",subresource="${safe(info?.subresource)}",verb="${safe(verb)}",version="${safe(info?.version)}"`;
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1);
    const timed = `group="${info?.group ?? ""}",resource="${safe(info?.resource)}",verb="${safe(verb)}"`;
    const sum = this.#durations.get(timed) ?? { sum: 0, count: 0 };
    this.#durations.set(timed, { sum: sum.sum + milliseconds / 1000, count: sum.count + 1 });
  }

  /** The text exposition format of Prometheus. */
  text(storage: Storage): string {
    const lines = ["# TYPE apiserver_request_total counter"];
    for (const [labels, count] of this.#requests) lines.push(`apiserver_request_total{${labels}} ${count}`);
    lines.push("# TYPE apiserver_request_duration_seconds summary");
    for (const [labels, { sum, count }] of this.#durations) {
      lines.push(`apiserver_request_duration_seconds_sum{${labels}} ${sum}`);
      lines.push(`apiserver_request_duration_seconds_count{${labels}} ${count}`);
    }
    lines.push("# TYPE apiserver_storage_objects gauge", "# TYPE apiserver_longrunning_requests gauge");
    for (const [resource, cache] of storage.caches()) {
      lines.push(`apiserver_storage_objects{resource="${resource}"} ${cache.size}`);
      lines.push(`apiserver_longrunning_requests{resource="${resource}"} ${cache.watchers}`);
    }
    return `${lines.join("\n")}\n`;
  }
}

/** A label must not grow with what clients send. */
function safe(text: string | undefined): string {
  return text !== undefined && /^[A-Za-z0-9./_-]{0,63}$/.test(text) ? text : "";
}
