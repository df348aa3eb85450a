import type { DaemonSet } from "@dray/api/apps/v1";
import { type ContainerStatus, Event, Pod } from "@dray/api/core/v1";
import type { Client } from "@dray/client";

/**
 * Resolves to why the pods of a DaemonSet are not ready, one reason for each distinct cause: what their
 * containers wait for or ended with, and the last line that they wrote; without pods, why none was created.
 */
export async function unreadyReasons(
  client: Client,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string[]> {
  const { items } = await client.resource(Pod).list({ namespace });
  const pods = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some((owner) => owner.kind === "DaemonSet" && owner.name === name),
  );
  if (pods.length === 0) return creationFailures(client, namespace, name);
  const reasons = await Promise.all(
    pods.filter((pod) => !isReady(pod)).map((pod) => reasonOf(client, pod).catch(() => undefined)),
  );
  return [...new Set(reasons.filter((reason) => reason !== undefined))];
}

async function creationFailures(client: Client, namespace: string, name: string): Promise<string[]> {
  const kind: DaemonSet["kind"] = "DaemonSet";
  const { items } = await client.resource(Event).list({
    namespace,
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name},type=Warning`,
  });
  const last = items.at(-1);
  return last === undefined ? [] : [`DaemonSet ${namespace}/${name}: ${last.reason}: ${last.message ?? ""}`];
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

async function reasonOf(client: Client, pod: Pod): Promise<string | undefined> {
  const { metadata, status } = pod;
  const scheduled = status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False") return `pods wait: ${scheduled.message ?? scheduled.reason}`;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const failing = containers.find(({ state, ready }) => !ready && state?.running === undefined);
  if (failing === undefined) return undefined;
  const line = await lastLine(client, pod, failing);
  const said = line === undefined ? "" : `; its last line: ${line}`;
  return `pod ${metadata.namespace}/${metadata.name}, container ${failing.name}: ${stateText(failing)}${said}`;
}

/** Returns why a container waits, or how it ended. */
function stateText({ state, lastState }: ContainerStatus): string {
  const waiting = [state?.waiting?.reason, state?.waiting?.message].filter((part) => part).join(": ");
  const ended = state?.terminated ?? lastState?.terminated;
  if (ended === undefined) return waiting === "" ? "not started" : waiting;
  const how = [`${ended.reason ?? "ended"} with exit code ${ended.exitCode}`, ended.message?.trim()];
  return how.filter((part) => part).join(": ");
}

/** Resolves to the last line that a container wrote before it ended, or has written so far. */
export async function lastLine(
  client: Client,
  { metadata }: Pod,
  { name, state }: ContainerStatus,
): Promise<string | undefined> {
  const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}/log`;
  const previous = state?.waiting === undefined ? "" : "&previous=true";
  try {
    const text = await client.text(
      "GET",
      `${path}?container=${encodeURIComponent(name)}&tailLines=1${previous}`,
    );
    return text.trim() || undefined;
  } catch {
    // It never ran, its node is away, or the user may not read logs.
    return undefined;
  }
}
