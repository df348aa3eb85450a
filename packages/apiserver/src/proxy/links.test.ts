import assert from "node:assert/strict";
import { test } from "node:test";
import { encodedPath, rewriteLink } from "./links.ts";

const prefix = "/api/v1/namespaces/n/pods/https:p:443/proxy";
const place = { prefix, backend: "10.0.0.1:80", requestHost: "server:6443" };

/** Upstream: k8s.io/apimachinery, pkg/util/proxy/transport.go, rewriteURL */
const links: Readonly<Record<string, string>> = {
  "/a": `${prefix}/a`,
  "/": `${prefix}/`,
  "/a/../b/?x=/y#/z": `${prefix}/b/?x=/y#/z`,
  "/a b%2fc%20!": `${prefix}/a%20b/c%20%21`,
  "http://10.0.0.1:80/a": `${prefix}/a`,
  "//10.0.0.1:80/a": `${prefix}/a`,
  "https://server:6443/a": `https://server:6443${prefix}/a`,
  [`${prefix}/a`]: `${prefix}/a`,
  [`http://10.0.0.1:80${prefix}/a%20`]: `${prefix}/a%20`,
  "http://elsewhere/a": "http://elsewhere/a",
  "http://10.0.0.1/a": "http://10.0.0.1/a",
  "a/b": "a/b",
  "?q": "?q",
  "": "",
  "mailto:/a": `${prefix}/a`,
  "mailto:a": "mailto:a",
  "/%zz": "/%zz",
  "/a\n": "/a\n",
};

for (const [link, expected] of Object.entries(links)) {
  test(JSON.stringify(link), () => assert.equal(rewriteLink(link, place), expected));
}

test("a path is escaped byte by byte, as Go does", () => {
  assert.equal(encodedPath("/a b/\xc3\xa9?#%!$&+,:;=@~"), "/a%20b/%C3%A9%3F%23%25%21$&+,:;=@~");
});
