import { timeText } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import { encoded, notAcceptable } from "../encoding/representation.ts";
import { bodyResponse } from "../http/response.ts";
import { headersOf } from "../http/warnings.ts";
import { acceptClauses } from "../request/accept.ts";

const group = "config.k8s.io";
const structured = ["application/json", "application/yaml"] as const;
const warning =
  "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";
const paths = ["/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

const kind = "Statusz";

/** The server's status page for debugging (`/statusz`, KEP-4827). */
export class StatusPage {
  readonly #release: string;
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(release: string, clock: Clock) {
    this.#release = release;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Returns the page as text, or as the object that `Accept` names. Throws 406. */
  response(request: ApiRequest): ApiResponse {
    const form = formOf(request.headers["accept"]);
    if (form === undefined) {
      const types = [...structured, "text/plain"].join(", ");
      throw notAcceptable(`only the following media types are accepted: ${types}`);
    }
    if (form === "text") {
      const headers = { "cache-control": "no-cache, private", "content-type": "text/plain; charset=utf-8" };
      return bodyResponse(200, headers, () => this.#text());
    }
    const { mediaType, version } = form;
    const object = {
      kind,
      apiVersion: `${group}/${version}`,
      metadata: { name: "apiserver" },
      ...this.#status(),
    };
    const deprecated = "This version of the statusz endpoint is deprecated. Please use a newer version.";
    const headers = {
      "content-type": `${mediaType};g=${group};v=${version};as=${kind}`,
      ...headersOf({ warnings: new Set(version === "v1alpha1" ? [deprecated] : []) }),
    };
    return encoded(200, object, { mediaType, pretty: true }, { headers });
  }

  #status(): object {
    return {
      startTime: timeText(this.#startedAt),
      uptimeSeconds: this.#uptime,
      goVersion: "",
      binaryVersion: this.#release,
      emulationVersion: this.#release,
      paths,
    };
  }

  get #uptime(): number {
    return Math.floor((this.#clock.now() - this.#startedAt) / 1000);
  }

  #text(): string {
    const seconds = this.#uptime;
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    const [day, date, month, year, time] = new Date(this.#startedAt).toUTCString().split(/,? /);
    return [
      "",
      "apiserver statusz",
      warning,
      "",
      `Started: ${day} ${month} ${Number(date)} ${time} UTC ${year}`,
      `Up: ${hours} hr ${String(minutes).padStart(2, "0")} min ${String(seconds % 60).padStart(2, "0")} sec`,
      "Go version: ",
      `Binary version: ${this.#release}`,
      `Emulation version: ${this.#release}`,
      `Paths: ${paths.join(" ")}`,
      "",
    ].join("\n");
  }
}

type Form = "text" | { mediaType: (typeof structured)[number]; version: string };

/** Text is for people and needs no parameters; the object requires a clause with its version. */
function formOf(header: string | undefined): Form | undefined {
  for (const { type, parameters } of acceptClauses(header)) {
    const as = ["as", "g", "v"].map((name) => parameters.get(name));
    const plain = as.every((value) => value === undefined);
    if (plain && (type === "text/plain" || type === "*/*" || type === "text/*")) return "text";
    const mediaType = structured.find((one) => one === type);
    const version = as[2];
    if (mediaType === undefined || as[0] !== kind || as[1] !== group) continue;
    if (version === "v1alpha1" || version === "v1beta1") return { mediaType, version };
  }
  return undefined;
}
