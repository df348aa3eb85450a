import { isIPv4 } from "node:net";
import dnsPacket, { type Answer, type Packet, type Question } from "dns-packet";
import { type DnsZone, lookUp, type RecordSet, type ServiceRecord } from "./records.ts";

/** Resolves a name outside the cluster: the addresses of an alias. */
export type ResolveForeign = (question: Question) => Promise<readonly Answer[]>;

/** Time to live of records in seconds. Upstream: the default of CoreDNS's plugin kubernetes. */
const ttl = 5;
const notFound = 3;
/** Maximum length of a chain of aliases. */
const maxAliases = 8;

/** Returns the answer to a query; undefined if another server has to give it. */
export async function answerQuery(
  query: Packet,
  zone: DnsZone,
  resolve: ResolveForeign,
): Promise<Packet | undefined> {
  const [question] = query.questions ?? [];
  if (question === undefined || (question.class ?? "IN") !== "IN") return undefined;
  const lookup = lookUp(zone, question.name);
  if (lookup.kind === "foreign") return undefined;
  const answers = lookup.records === undefined ? [] : recordsOf(question, lookup.records, zone);
  const aliased = await followAlias(question, answers, zone, resolve);
  const all = [...answers, ...aliased];
  const services = question.type === "SRV" ? (lookup.records?.services ?? []) : [];
  return {
    ...response(query),
    flags:
      dnsPacket.AUTHORITATIVE_ANSWER |
      dnsPacket.RECURSION_AVAILABLE |
      ((query.flags ?? 0) & dnsPacket.RECURSION_DESIRED) |
      (lookup.records === undefined ? notFound : 0),
    answers: all,
    authorities: all.length === 0 ? [startOfAuthority(zone.domain, zone.domain)] : [],
    additionals: services.flatMap(({ target, addresses }) => addressRecords(target, addresses)),
  };
}

/** The frame of an answer, with the ID and question of the client. */
export function response(query: Packet): Packet {
  return { type: "response", id: query.id ?? 0, questions: query.questions ?? [] };
}

async function followAlias(
  { type, name }: Question,
  answers: readonly Answer[],
  zone: DnsZone,
  resolve: ResolveForeign,
): Promise<readonly Answer[]> {
  const chain: Answer[] = [];
  let [last] = answers;
  while (last?.type === "CNAME" && type !== "CNAME" && chain.length < maxAliases) {
    const question: Question = { type, name: last.data };
    const lookup = lookUp(zone, last.data);
    if (lookup.kind === "foreign") return [...chain, ...(await resolve(question))];
    const next = lookup.records === undefined ? [] : recordsOf(question, lookup.records, zone);
    for (const record of next) chain.push(record);
    if (last.data === name) break;
    [last] = next;
  }
  return chain;
}

function recordsOf({ type, name }: Question, records: RecordSet, { domain }: DnsZone): Answer[] {
  const { addresses = [], services = [], alias, pointers = [], text, apex } = records;
  const all = (type as string) === "ANY";
  const wants = (one: Question["type"]): boolean => all || type === one;
  if (alias !== undefined) return [{ type: "CNAME", name, ttl, data: alias }];
  return [
    ...addressRecords(name, addresses).filter((record) => wants(record.type as Question["type"])),
    ...(wants("SRV") ? services.map((one) => serviceRecord(name, one, services.length)) : []),
    ...(wants("PTR") ? pointers.map((data): Answer => ({ type: "PTR", name, ttl, data })) : []),
    ...(wants("TXT") && text !== undefined ? [{ type: "TXT", name, ttl, data: text } as const] : []),
    ...(wants("SOA") && apex ? [startOfAuthority(name, domain)] : []),
    ...(wants("NS") && apex ? [{ type: "NS", name, ttl, data: `ns.dns.${domain}` } as const] : []),
  ];
}

function addressRecords(name: string, addresses: readonly string[]): Answer[] {
  return addresses.map((data) => ({ type: isIPv4(data) ? "A" : "AAAA", name, ttl, data }));
}

/**
 * Clients are spread over all targets: the weights add up to 100. Upstream: CoreDNS,
 * plugin/backend_lookup.go, SRV.
 */
function serviceRecord(name: string, { target, port }: ServiceRecord, count: number): Answer {
  const weight = Math.max(1, Math.floor(100 / count));
  return { type: "SRV", name, ttl, data: { priority: 0, weight, port, target } };
}

/** In a negative answer, the time for which it holds (RFC 2308). */
function startOfAuthority(name: string, domain: string): Answer {
  return {
    type: "SOA",
    name,
    ttl,
    data: {
      mname: `ns.dns.${domain}`,
      rname: `hostmaster.${domain}`,
      serial: 1,
      refresh: 7200,
      retry: 1800,
      expire: 86_400,
      minimum: ttl,
    },
  };
}
