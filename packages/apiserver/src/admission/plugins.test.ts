import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing/server.ts";
import { missingModules, upstreamSource } from "../testing/upstream.ts";
import { admissionPluginNames } from "./plugins.ts";

for (const release of ["1.36.3", "1.37.1"]) {
  const module = `k8s.io/kubernetes@v${release}`;
  test(`the plugins of ${release} are here, in upstream's order`, { skip: missingModules(module) }, () => {
    const source = upstreamSource(`${module}/pkg/kubeapiserver/options/plugins.go`);
    /** The names are in comments behind the entries. */
    const namesAfter = (declaration: RegExp, end: string): string[] => {
      const [, list = ""] = source.split(declaration);
      const [entries = ""] = list.split(end);
      return [...entries.matchAll(/PluginName, +\/\/ (\w+)/g)].map(([, name = ""]) => name);
    };
    const upstream = namesAfter(/var AllOrderedPlugins = .*/, "\n}");
    assert.ok(upstream.length > 35);
    const names = admissionPluginNames.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => upstream.includes(name)),
      upstream,
    );
    const on = new Set(
      namesAfter(/defaultOnPlugins := .*/, "\n\t)").map((name) =>
        name.replace("Mutatingadmissionpolicy", "MutatingAdmissionPolicy"),
      ),
    );
    const differences = admissionPluginNames.filter(
      (plugin) => upstream.includes(plugin.name) && (plugin.default === "on") !== on.has(plugin.name),
    );
    // Our kubelets are as little trusted as those of kubeadm, which turns it on.
    assert.deepEqual(
      differences.map(({ name }) => name),
      ["NodeRestriction"],
    );
  });
}

test("the help describes plugins that are off by default", () => {
  for (const plugin of admissionPluginNames)
    if (plugin.default === "off" && !plugin.isMissing) assert.ok(plugin.help, plugin.name);
});

test("a server rejects unknown names, and leaves out what is disabled", async () => {
  const unknown = { message: /^unknown admission plugin "Frob": known are AlwaysAdmit, .*AlwaysDeny$/ };
  await assert.rejects(testServer({ enabledAdmissionPlugins: ["Frob"] }), unknown);
  await assert.rejects(testServer({ disabledAdmissionPlugins: ["Frob"] }), unknown);
  const body = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
  for (const disabledAdmissionPlugins of [[], ["NamespaceLifecycle", "ServiceAccount"]]) {
    const { server, call } = await testServer({ disabledAdmissionPlugins });
    const { status } = await call("POST", "/api/v1/namespaces/missing/pods", { body });
    assert.equal(status, disabledAdmissionPlugins.length === 0 ? 404 : 201);
    await server.close();
  }
});
