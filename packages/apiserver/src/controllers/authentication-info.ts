import { X509Certificate } from "node:crypto";
import { StatusError } from "@dray/api";
import type { ConfigMap } from "@dray/api/core/v1";
import { type Clock, createWorkQueue, type Log, type WorkQueue } from "@dray/client";
import { completeRequestHeader, type RequestHeader } from "../authentication/request-header.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual } from "../storage/json.ts";
import type { Storage } from "../storage/storage.ts";
import type { OwnObjects } from "../write/own-objects.ts";

/** How this server authenticates clients, published for the API servers behind it. */
export interface AuthenticationInfo {
  /** PEM of the authority of client certificates. */
  readonly clientAuthority?: string | undefined;
  readonly requestHeader?: RequestHeader | undefined;
}

const namespace = "kube-system";
const name = "extension-apiserver-authentication";
/** Milliseconds for which an expired certificate is kept, for clock skew. */
const clockSkew = 5 * 60_000;

type Data = Readonly<Record<string, string>>;

/**
 * Keeps the ConfigMap kube-system/extension-apiserver-authentication up to date. Entries of other servers
 * stay as long as their certificates are valid.
 *
 * Upstream: pkg/controlplane/controller/clusterauthenticationtrust
 */
export class AuthenticationInfoController {
  readonly #own: OwnObjects;
  readonly #served: ServedResource;
  readonly #info: AuthenticationInfo;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;

  constructor(own: OwnObjects, info: AuthenticationInfo, clock: Clock, log: Log) {
    this.#own = own;
    this.#served = own.served("", "configmaps");
    this.#info = info;
    this.#clock = clock;
    const reconcile = (): Promise<void> => this.#sync();
    this.#queue = createWorkQueue({ name: "authentication-info", clock, log, reconcile });
  }

  /** Creates or updates the ConfigMap, and restores it after changes. */
  async start(storage: Storage): Promise<void> {
    await this.#sync();
    storage.cache("configmaps").subscribe(({ object }) => {
      if (object.metadata.name === name && object.metadata.namespace === namespace) this.#queue.add(name);
    });
  }

  async close(): Promise<void> {
    await this.#queue.close();
  }

  async #sync(): Promise<void> {
    const present = this.#own.find(this.#served, namespace, name) as ConfigMap | undefined;
    const data = combinedData(present?.data ?? {}, this.#info, this.#clock.now());
    if (present === undefined && Object.keys(data).length === 0) return;
    if (present !== undefined && deepEqual(data, present.data ?? {})) return;
    const metadata = { name, namespace };
    try {
      if (present === undefined)
        await this.#own.create(this.#served, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
      else
        await this.#own.change(this.#served, present, (draft) => {
          (draft as ConfigMap).data = data;
        });
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists") && !StatusError.is(error, "NotFound")) throw error;
    }
  }
}

/** `now`: milliseconds since the epoch. */
function combinedData(present: Data, info: AuthenticationInfo, now: number): Record<string, string> {
  const data: Record<string, string> = {};
  const certificates = (key: string, own: string | undefined): void => {
    const text = combinedCertificates(`${present[key] ?? ""}\n${own ?? ""}`, now);
    if (text !== "") data[key] = text;
  };
  certificates("client-ca-file", info.clientAuthority);
  certificates("requestheader-client-ca-file", info.requestHeader?.clientAuthority);
  if (data["requestheader-client-ca-file"] === undefined) return data;
  const own = info.requestHeader && completeRequestHeader(info.requestHeader);
  const list = (key: string, values: readonly string[] = []): string[] => {
    const known = namesIn(present[key]);
    const all = [...new Set([...known, ...values])];
    data[key] = JSON.stringify(all);
    return all;
  };
  list("requestheader-username-headers", own?.usernameHeaders);
  if (list("requestheader-uid-headers", own?.uidHeaders).length === 0)
    delete data["requestheader-uid-headers"];
  list("requestheader-group-headers", own?.groupHeaders);
  list("requestheader-extra-headers-prefix", own?.extraHeaderPrefixes);
  list("requestheader-allowed-names", own?.allowedNames);
  return data;
}

/** Returns the names in a value of the ConfigMap; empty if it is malformed. */
function namesIn(text: string | undefined): string[] {
  try {
    const names: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(names) ? names.filter((each): each is string => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Returns the certificates of a text without duplicates and expired ones. */
function combinedCertificates(text: string, now: number): string {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  const valid = blocks
    .map((block) => block.replaceAll("\r", "").trim())
    .filter((block) => isValid(block, now));
  return [...new Set(valid)].map((block) => `${block}\n`).join("");
}

function isValid(block: string, now: number): boolean {
  try {
    return new X509Certificate(block).validToDate.getTime() > now - clockSkew;
  } catch {
    return false;
  }
}
