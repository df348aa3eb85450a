import { createPrivateKey, X509Certificate } from "node:crypto";
import { UsageError } from "../terminal/failure.ts";
import { readFlagFile } from "./flag-file.ts";

/** Reads the file of a flag. Throws a UsageError if that fails. Returns undefined without the flag. */
export function contents(flag: string, file: string | undefined): string | undefined {
  return file === undefined ? undefined : readFlagFile(flag, file);
}

/** Throws a UsageError for a PEM file that Node's cryptography cannot read. */
export function check(flag: string, file: string | undefined, parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    const key = flag === "--service-account-key-file" ? "keys" : "a private key";
    const wanted = /key(-file)?$/.test(flag) ? key : "certificates";
    throw new UsageError(`${flag} ${file}: must hold ${wanted} in PEM form: ${(error as Error).message}`);
  }
}

export interface FileFlag {
  readonly flag: string;
  readonly file: string | undefined;
}

/** Reads a certificate and its key. Returns undefined without the flags. */
export function keyPair(
  certificateFlag: FileFlag,
  keyFlag: FileFlag,
): { certificate: string; key: string } | undefined {
  if ((certificateFlag.file === undefined) !== (keyFlag.file === undefined))
    throw new UsageError(`${certificateFlag.flag} and ${keyFlag.flag} must be given together`);
  const certificate = contents(certificateFlag.flag, certificateFlag.file);
  const key = contents(keyFlag.flag, keyFlag.file);
  if (certificate === undefined || key === undefined) return undefined;
  check(keyFlag.flag, keyFlag.file, () => createPrivateKey(key));
  check(certificateFlag.flag, certificateFlag.file, () => {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
      throw new Error(`the key in ${keyFlag.file} is of another certificate`);
  });
  return { certificate, key };
}
