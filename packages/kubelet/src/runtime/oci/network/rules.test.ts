import assert from "node:assert/strict";
import { test } from "node:test";
import type { ServiceRoute } from "../../../services/routes.ts";
import { staleFlows } from "./flows.ts";
import { nodeRules } from "./node-rules.ts";
import { clusterRules, jumpsOf, type RulesInput, removalRules } from "./rules.ts";

const port = {
  nodeAddress: undefined,
  protocol: "udp",
  address: "",
  port: 53,
  sandbox: "s",
  targetAddress: "10.9.2.1",
  targetPort: 5353,
};
const empty: RulesInput = {
  bridge: "dray-9",
  network: "10.9.0.0/16",
  ports: [],
  services: [],
  nodes: [
    { name: "a", range: "10.9.2.0/23", address: undefined },
    { name: "b", range: "10.9.4.0/23", address: undefined },
  ],
  dns: undefined,
};
const web: ServiceRoute = {
  name: "ns/web:http",
  protocol: "tcp",
  clusterIP: "10.0.0.7",
  port: 80,
  externalIPs: [],
  internalLocal: false,
  externalLocal: false,
  endpoints: [
    { address: "10.9.2.1", port: 8080, node: "a" },
    { address: "10.9.4.1", port: 8080, node: "b" },
  ],
};

/** The rules of a chain, without their prefix and comments. */
function rulesOf(chain: string, input: Partial<RulesInput>): string[] {
  const text = clusterRules({ ...empty, ...input })
    .map(([, rules]) => rules)
    .join("");
  return text
    .split("\n")
    .filter((line) => line.startsWith(`-A dray-9-${chain} `))
    .map((line) =>
      line.replace(`-A dray-9-${chain} `, "").replace(/ -m comment --comment ("[^"]*"|\S+)/, ""),
    );
}
const of = (chain: string, values: Partial<ServiceRoute>): string[] =>
  rulesOf(chain, { services: [{ ...web, ...values }] });

const target = "-d 10.0.0.7/32 -p tcp --dport 80";
const [first, second] = ["-j DNAT --to-destination 10.9.2.1:8080", "-j DNAT --to-destination 10.9.4.1:8080"];
const half = "-m statistic --mode random --probability 0.5000000000";

test("ports of the machine lead to a pod, and DNS to the port at which the server listens", () => {
  assert.deepEqual(rulesOf("ports", { ports: [port] }), [
    "-p udp -m addrtype --dst-type LOCAL --dport 53 -j DNAT --to-destination 10.9.2.1:5353",
  ]);
  assert.ok(
    rulesOf("out", { ports: [port] }).includes(
      "-s 10.9.2.1 -d 10.9.2.1 -m conntrack --ctstate DNAT -j MASQUERADE",
    ),
  );
  assert.deepEqual(rulesOf("services", { dns: { address: "10.9.0.1", port: 4000 } }), [
    "-d 10.9.0.1/32 -p udp --dport 53 -j DNAT --to-destination 10.9.0.1:4000",
    "-d 10.9.0.1/32 -p tcp --dport 53 -j DNAT --to-destination 10.9.0.1:4000",
  ]);
});

test("a Service leads to each endpoint with the same probability", () => {
  assert.deepEqual(of("services", {}), [`${target} ${half} ${first}`, `${target} ${second}`]);
  const three = [...web.endpoints, { address: "10.9.2.9", port: 1 }];
  assert.match(of("services", { endpoints: three })[0]!, /--probability 0.3333333333 /);
  assert.match(of("services", { endpoints: three })[1]!, /--probability 0.5000000000 /);
  assert.deepEqual(of("refuse", {}), []);
  // Endpoints that call themselves see the machine.
  assert.equal(of("out", {}).filter((rule) => rule.includes("--ctstate DNAT")).length, 2);
});

test("without endpoints packets are refused, at the address and at the node port", () => {
  assert.deepEqual(of("services", { endpoints: [], nodePort: 30080 }), []);
  assert.deepEqual(of("refuse", { endpoints: [], nodePort: 30080 }), [
    `${target} -j REJECT`,
    "-m addrtype --dst-type LOCAL -p tcp --dport 30080 -j REJECT",
  ]);
});

test("a client with affinity returns to its endpoint for a time", () => {
  const rules = of("services", { affinitySeconds: 60 });
  assert.equal(rules.length, 4);
  const lists = rules.map((rule) => /--name (\S+)/.exec(rule)?.[1]);
  assert.deepEqual(lists.slice(0, 2), lists.slice(2));
  assert.notEqual(lists[0], lists[1]);
  assert.equal(rules[0], `${target} -m recent --name ${lists[0]} --update --seconds 60 --reap ${first}`);
  assert.equal(rules[2], `${target} ${half} -m recent --name ${lists[0]} --set ${first}`);
  assert.equal(rules[3], `${target} -m recent --name ${lists[1]} --set ${second}`);
});

test("internalTrafficPolicy Local: pods reach endpoints of their node, the machine those of its nodes", () => {
  assert.deepEqual(of("services", { internalLocal: true, endpoints: web.endpoints.slice(0, 1) }), [
    `-s 10.9.2.0/23 ${target} ${first}`,
    `! -s 10.9.0.0/16 ${target} ${first}`,
  ]);
  // Other nodes have endpoints: dropped, not refused.
  assert.deepEqual(of("refuse", { internalLocal: true, endpoints: web.endpoints.slice(0, 1) }), [
    `-s 10.9.4.0/23 ${target} -j DROP`,
  ]);
});

test("node ports and external addresses lead to all endpoints, with externalTrafficPolicy Local to near ones", () => {
  const local = "-m addrtype --dst-type LOCAL -p tcp --dport 30080";
  const one = web.endpoints.slice(0, 1);
  assert.deepEqual(of("external", { nodePort: 30080, externalIPs: ["192.0.2.1"], endpoints: one }), [
    `-d 192.0.2.1/32 -p tcp --dport 80 ${first}`,
    `${local} ${first}`,
  ]);
  const far = [{ address: "10.9.4.1", port: 8080, node: "elsewhere" }];
  const values = { nodePort: 30080, externalLocal: true, endpoints: far };
  assert.deepEqual(of("external", values), [
    `-s 10.9.0.0/16 ${local} ${second}`,
    `-m addrtype --src-type LOCAL ${local} ${second}`,
  ]);
  assert.deepEqual(of("refuse", values), [`${local} -j DROP`]);
});

test("ports and node ports of nodes with networks of their own lead at their addresses too", () => {
  const nodes = [
    { name: "a", range: "10.9.2.0/23", address: "10.9.1.1" },
    { name: "b", range: "10.9.4.0/23", address: "10.9.1.2" },
  ];
  const own = { ...port, nodeAddress: "10.9.1.1" };
  const to = "--dport 53 -j DNAT --to-destination 10.9.2.1:5353";
  assert.deepEqual(rulesOf("ports", { nodes, ports: [own] }), [
    `-p udp -d 10.9.1.1 ${to}`,
    `-p udp -m addrtype --dst-type LOCAL ${to}`,
  ]);
  assert.deepEqual(rulesOf("ports", { nodes, ports: [{ ...own, address: "10.9.1.1" }] }), [
    `-p udp -d 10.9.1.1 ${to}`,
  ]);
  const one = web.endpoints.slice(0, 1);
  const nodePort = "-p tcp --dport 30080";
  const external = (values: Partial<ServiceRoute>): string[] =>
    rulesOf("external", { nodes, services: [{ ...web, nodePort: 30080, endpoints: one, ...values }] });
  assert.deepEqual(external({}).slice(1), [`-d 10.9.1.0/24 ${nodePort} ${first}`]);
  // A client from outside stays on the node that it has asked, a pod does not.
  assert.deepEqual(external({ externalLocal: true }).slice(3), [
    `-s 10.9.0.0/23 -d 10.9.1.1/32 ${nodePort} ${first}`,
    `-s 10.9.0.0/16 -d 10.9.1.1/32 ${nodePort} ${first}`,
    `-d 10.9.1.1/32 ${nodePort} ${first}`,
    `-s 10.9.0.0/23 -d 10.9.1.2/32 ${nodePort} -j RETURN`,
    `-s 10.9.0.0/16 -d 10.9.1.2/32 ${nodePort} ${first}`,
  ]);
  const local = { ...web, internalLocal: true, endpoints: one };
  assert.deepEqual(rulesOf("services", { nodes, services: [local] }).slice(0, 2), [
    `-s 10.9.2.0/23 ${target} ${first}`,
    `-s 10.9.1.1/32 ${target} ${first}`,
  ]);
});

test("a node leads its own processes to its ports, and to node ports by the machine", () => {
  const address = "10.9.1.1";
  const ports = [
    { ...port, nodeAddress: address },
    { ...port, nodeAddress: "10.9.1.2", port: 54 },
  ];
  const input = { address, gateway: "10.9.0.1", ports, services: [web, { ...web, nodePort: 30080 }] };
  const [nat = ["", ""], filter = ["", ""]] = nodeRules(input);
  assert.deepEqual(
    nat[1].split("\n").filter((line) => line.startsWith("-A dray-ports")),
    [
      "-A dray-ports -p udp --dport 53 -j DNAT --to-destination 10.9.2.1:5353",
      "-A dray-ports -p tcp --dport 30080 -j DNAT --to-destination 10.9.0.1",
    ],
  );
  assert.match(filter[1], /-d 127\.0\.0\.0\/8 .* -j DROP/);
});

test("flows of UDP end with their endpoint, and those that began before there was one", () => {
  const udp = (endpoints: ServiceRoute["endpoints"], values = {}): ServiceRoute[] => [
    { ...web, protocol: "udp", endpoints, ...values },
  ];
  const [one, two] = [web.endpoints.slice(0, 1), web.endpoints.slice(1)];
  const frontend = ["--orig-dst", "10.0.0.7", "--orig-port-dst", "80"];
  const external = { nodePort: 30080, externalIPs: ["192.0.2.1"] };
  assert.deepEqual(staleFlows([web], []), []);
  assert.deepEqual(staleFlows(udp(one), udp(web.endpoints)), []);
  assert.deepEqual(staleFlows(udp(web.endpoints), udp(two)), [[...frontend, "--dst-nat", "10.9.2.1"]]);
  assert.deepEqual(staleFlows(udp(one), []), [[...frontend, "--dst-nat", "10.9.2.1"]]);
  assert.deepEqual(staleFlows(udp([]), udp(one)), [frontend]);
  assert.deepEqual(staleFlows([], udp(one, external)), [
    frontend,
    ["--orig-dst", "192.0.2.1", "--orig-port-dst", "80"],
    ["--orig-port-dst", "30080"],
  ]);
});

test("rules name only chains of their own, and all of them are removed", () => {
  const services = [web, { ...web, endpoints: [], nodePort: 30080 }];
  const rules = clusterRules({ ...empty, ports: [port], services, dns: { address: "10.9.0.1", port: 1 } });
  const names = (tables: typeof rules): string[] =>
    tables.flatMap(([table, text]) =>
      text
        .split("\n")
        .filter((line) => line.startsWith(":"))
        .map((line) => `${table} ${line}`),
    );
  for (const [, text] of rules)
    for (const line of text.split("\n").filter((one) => /^[-:]/.test(one)))
      assert.match(line, /^(-A |:)dray-9-/);
  assert.deepEqual(names(rules), names(removalRules("dray-9")));
  const known = names(rules).map((line) => line.replace(/ - .*| :/g, ""));
  for (const { table, rule } of jumpsOf("dray-9"))
    assert.ok(known.includes(`${table}${rule.at(-1)}`), `${table} ${rule.at(-1)}`);
});
