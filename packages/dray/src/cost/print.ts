import { type Column, plainFormat, type TableFormat, table } from "../text/table.ts";
import type { ClassCost, CostData, Held, Range, SubjectCost } from "./data.ts";

const long = (title: string): Column => ({ title, wraps: true });

/** Formats costs for people. Wide: also each claim with its alternatives, and the charges of quotas. */
export function costText({ subjects, total }: CostData, format: TableFormat = plainFormat): string {
  const own = subjects.flatMap((subject) => {
    const claims = subject.claims.reduce((sum, each) => sum + each.claims, 0);
    return rowsOf([subject.object, podsText(subject), String(claims)], subject.classes);
  });
  const all =
    total === null || subjects.length < 2 || !format.headers ? [] : rowsOf(["total", "", ""], total.classes);
  const rows = [...own, ...all];
  // A narrow terminal leaves out empty columns before it breaks words of the others.
  const amountColumn = (title: string, i: number): Column =>
    rows.every((row) => row[i] === "-") ? { ...long(title), drop: i } : long(title);
  const header = [
    ...[long("OBJECT"), "PODS", "CLAIMS", long("CLASS"), "DEVICES"],
    ...[amountColumn("CAPACITY", 5), amountColumn("COUNTERS", 6)],
  ];
  const tables = [table(header, rows, format)];
  // Rows without titles are of one kind.
  if (format.wide && format.headers) {
    tables.push(
      table(
        ["OBJECT", "CLAIM", "REQUEST", "CLASS", "DEVICES", "CAPACITY", "COUNTERS", "SUITABLE"],
        claimRows(subjects),
        format,
      ),
    );
    const charges = Object.entries(total?.quota ?? {}).flatMap(([namespace, quota]) =>
      Object.entries(quota).map(([name, amount]) => [namespace, name, amount]),
    );
    if (charges.length > 0) tables.push(table(["NAMESPACE", "QUOTA", "CHARGED"], charges, format));
  }
  return tables.join("\n");
}

const podsText = ({ pods, perNode, perRun }: SubjectCost): string =>
  perNode ? `${pods} a node` : perRun ? `${pods} a run` : String(pods);

function rowsOf(first: readonly string[], classes: readonly ClassCost[]): string[][] {
  if (classes.length === 0) return [[...first, "-", "0", "-", "-"]];
  return classes.map((each, i) => [
    ...(i === 0 ? first : first.map(() => "")),
    each.class,
    ...heldCells(each),
  ]);
}

function claimRows(subjects: readonly SubjectCost[]): string[][] {
  return subjects.flatMap(({ object, claims }) =>
    claims.flatMap(({ claim, claims: count, requests }) =>
      requests
        .flat()
        .map((each) => [
          object,
          count === 1 ? claim : `${count} of ${claim}`,
          each.request,
          each.class,
          ...(each.adminAccess ? ["0 (admin access)", "-", "-"] : heldCells(each)),
          each.suitable === null ? "-" : String(each.suitable),
        ]),
    ),
  );
}

function heldCells({ devices, capacity, counters }: Held): string[] {
  return [rangeText(devices), rangesText(capacity), rangesText(counters)];
}

function rangesText(ranges: Readonly<Record<string, Range<string>>>): string {
  const texts = Object.entries(ranges).map(([name, range]) => `${name} ${rangeText(range)}`);
  return texts.length === 0 ? "-" : texts.join(", ");
}

function rangeText<T extends string | number | bigint>({ least, most }: Range<T>): string {
  return least === most ? String(least) : `${least} to ${most}`;
}
