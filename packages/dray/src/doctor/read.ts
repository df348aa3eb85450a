import { StatusError, type Wire } from "@dray/api";
import { Event } from "@dray/api/core/v1";
import type { APIGroup } from "@dray/api/meta/v1";
import { listAll } from "@dray/client";
import type { Connection } from "../connection/connect.ts";
import { liveVersion, type MissingRight } from "../manifests/live.ts";
import { type Observed, type ObserveFlags, observe } from "../observe/read.ts";
import type { ServerVersions, Snapshot } from "./finding.ts";

/** The listed kinds besides Events. */
const listed = [
  "Node",
  "Pod",
  "ResourceSlice",
  "DeviceClass",
  "ResourceClaim",
  "ResourceClaimTemplate",
  "DeviceTaintRule",
] as const;

/** All listed kinds. */
export const doctorKinds: readonly string[] = [...listed, "Event"];

export interface Examination {
  readonly snapshot: Snapshot;
  readonly source: string;
  readonly isLive: boolean;
  readonly notes: readonly string[];
  readonly missing: readonly MissingRight[];
}

/** Reads a cluster with lists only, or the cluster that manifests describe. */
export async function readSnapshot(flags: ObserveFlags, now: number): Promise<Examination> {
  const observed = await observe(flags, new Set(listed), now, readMore);
  const { world, features, source, isLive, notes, more } = observed;
  const events = more?.events;
  const lacksEvents: MissingRight[] =
    isLive && events === undefined ? [{ verb: "list", resource: "events", kind: "Event" }] : [];
  return {
    snapshot: { world, features, now, events, server: more?.server },
    source,
    isLive,
    notes,
    missing: [...observed.missing, ...lacksEvents],
  };
}

interface More {
  readonly events: readonly Event[] | undefined;
  readonly server: ServerVersions;
}

async function readMore(connection: Connection, _: Observed): Promise<More> {
  const [events, { server }, served] = await Promise.all([
    failures(connection),
    liveVersion(connection),
    servedVersions(connection),
  ]);
  return { events, server: { release: server, served } };
}

/**
 * Returns events of kubelets about claims that they cannot prepare; undefined without permission to list
 * events.
 */
async function failures({ client }: Connection): Promise<readonly Event[] | undefined> {
  try {
    const selection = { fieldSelector: "reason=FailedPrepareDynamicResources" };
    return (await listAll(client.resource(Event), selection)).items;
  } catch (error) {
    if (StatusError.is(error, "Forbidden")) return undefined;
    throw error;
  }
}

async function servedVersions({ client }: Connection): Promise<readonly string[]> {
  try {
    const group = JSON.parse(await client.text("GET", "/apis/resource.k8s.io")) as Wire<APIGroup>;
    return (group.versions ?? []).flatMap(({ version }) => version ?? []);
  } catch (error) {
    if (StatusError.is(error, "NotFound")) return [];
    throw error;
  }
}
