import assert from "node:assert/strict";
import { test } from "node:test";
import { keyPairProblem } from "./key-pair.ts";

const block = (type: string, text = "eA=="): string =>
  `-----BEGIN ${type}-----\n${text}\n-----END ${type}-----\n`;

test("reports with Go's messages why a certificate and a key do not match", () => {
  const cases: readonly (readonly [certificate: string, key: string, problem: string])[] = [
    ["x", "y", "tls: failed to find any PEM data in certificate input"],
    [
      block("EC PRIVATE KEY"),
      "",
      "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
    ],
    [
      block("A") + block("B"),
      "",
      'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the following types: [A B]',
    ],
    [block("CERTIFICATE"), "y", "tls: failed to find any PEM data in key input"],
    [
      block("CERTIFICATE"),
      block("CERTIFICATE"),
      "tls: found a certificate rather than a key in the PEM for the private key",
    ],
    [block("CERTIFICATE"), block("EC PRIVATE KEY"), "x509: malformed certificate"],
  ];
  for (const [certificate, key, problem] of cases) assert.equal(keyPairProblem(certificate, key), problem);
});
