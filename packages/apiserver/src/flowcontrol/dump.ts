import { apiVersionOf } from "@dray/api";
import type { Configuration } from "./configuration.ts";
import type { PriorityLevel } from "./priority-level.ts";
import type { FlowRequest } from "./request.ts";

const root = "/debug/api_priority_and_fairness/";

type Rows = readonly (readonly string[])[];

/**
 * Returns the text of a page below `/debug/api_priority_and_fairness/`; undefined for another path.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/apf_controller_debug.go
 */
export function dumpText(
  configuration: Configuration,
  path: string,
  query: URLSearchParams,
): string | undefined {
  const levels = configuration.levels.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  switch (path) {
    case `${root}dump_priority_levels`:
      return table(levelHeads, levels.map(levelRow));
    case `${root}dump_queues`:
      return table(queueHeads, levels.flatMap(queueRows));
    case `${root}dump_requests`: {
      const isDetailed = (query.get("includeRequestDetails") ?? "") !== "";
      const heads = isDetailed ? [...requestHeads, ...detailHeads] : requestHeads;
      return table(
        heads,
        levels.flatMap((level) => requestRows(level, isDetailed)),
      );
    }
    default:
      return undefined;
  }
}

const levelHeads = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];

function levelRow({ name, requests, isQuiescing }: PriorityLevel): string[] {
  const active = [...requests.queues].filter(({ waiting }) => waiting.size > 0).length;
  return [
    name,
    ...[active, requests.isIdle, isQuiescing, requests.waiting, requests.executing.size].map(String),
    ...[requests.dispatched, requests.rejected, 0, requests.timedOut].map(String),
  ];
}

const queueHeads = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];

/** Formats seat-milliseconds as upstream formats seat-seconds. */
const seatSeconds = (work: number): string => `${(work / 1000).toFixed(8)}ss`;

/** Unused queues are omitted. */
function queueRows({ name, requests }: PriorityLevel): Rows {
  const queues = [...requests.queues].sort((a, b) => a.index - b.index);
  return queues.map(({ index, waiting, executing, seatsInUse, nextStart, waitingWork }) => {
    const initial = [...waiting].reduce((sum, { work }) => sum + work.initialSeats, 0);
    const totalSeats = [...waiting].reduce((sum, { seats }) => sum + seats, 0);
    return [
      name,
      ...[index, waiting.size, executing, seatsInUse].map(String),
      seatSeconds(nextStart),
      String(initial),
      String(totalSeats),
      seatSeconds(waitingWork),
    ];
  });
}

const requestHeads = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "ArriveTime",
  "InitialSeats",
  "FinalSeats",
  "AdditionalLatency",
  "StartTime",
];
const detailHeads = [
  "UserName",
  "Verb",
  "APIPath",
  "Namespace",
  "Name",
  "APIVersion",
  "Resource",
  "SubResource",
];

function requestRows({ requests }: PriorityLevel, isDetailed: boolean): Rows {
  const waiting = [...requests.queues].flatMap((queue) =>
    [...queue.waiting].map((request, index) => requestRow(request, index, isDetailed)),
  );
  return [...waiting, ...[...requests.executing].map((request) => requestRow(request, -1, isDetailed))];
}

function requestRow(request: FlowRequest, index: number, isDetailed: boolean): string[] {
  const { flow, info, user, work, queue, arrived, started } = request;
  const row = [
    flow.level.name,
    flow.name,
    String(queue?.index ?? -1),
    String(index),
    flow.level.isExempt ? "" : flow.distinguisher(info, user),
    new Date(arrived).toISOString(),
    String(work.initialSeats),
    String(work.finalSeats),
    work.latency === 0 ? "0s" : `${work.latency}ms`,
    // Go's zero time.
    started === 0 ? "0001-01-01T00:00:00Z" : new Date(started).toISOString(),
  ];
  if (!isDetailed) return row;
  const { verb, path, namespace, name, resource, subresource } = info;
  return [...row, user.name, verb, path, namespace, name, apiVersionOf(info), resource, subresource];
}

/** Pads each column to its widest cell and a comma. Upstream: text/tabwriter */
function table(heads: readonly string[], rows: Rows): string {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => row[column]!.length)) + 2);
  return all
    .map((row) =>
      row
        .map((cell, column) => (column + 1 === row.length ? cell : `${cell},`.padEnd(widths[column]!)))
        .join(""),
    )
    .map((line) => `${line}\n`)
    .join("");
}
