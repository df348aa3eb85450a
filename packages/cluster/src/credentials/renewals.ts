import type { X509Certificate } from "node:crypto";

const dayMilliseconds = 24 * 60 * 60 * 1000;
/** A certificate that ends sooner is issued anew: a cluster may run for long after its start. */
export const minValidity = 30 * dayMilliseconds;
/** The same of an authority, whose certificates are valid for a year. */
const minAuthorityValidity = minValidity + 365 * dayMilliseconds;
/**
 * Minimum age of the begin of a validity: a clock may be set back by a little while the cluster runs. New
 * certificates begin an hour ago.
 */
const minAge = 5 * 60 * 1000;

/** Certificates that are issued anew because of the time, with the reasons. */
export class Renewals {
  readonly #now: number;
  /** Names of the certificates by their reasons. */
  readonly #names = new Map<string, string[]>();

  constructor(now: number) {
    this.#now = now;
  }

  /** Reports whether the certificate is valid, and for as long as that; else it counts as renewed. */
  isInTime(name: string, { validFromDate, validToDate }: X509Certificate, validity: number): boolean {
    const [from, until] = [validFromDate.getTime(), validToDate.getTime()];
    const reason =
      from > this.#now - minAge
        ? `not valid before ${secondText(from)}`
        : until <= this.#now
          ? `expired since ${secondText(until)}`
          : until <= this.#now + validity
            ? `valid only until ${secondText(until)}`
            : undefined;
    if (reason === undefined) return true;
    this.#names.set(reason, [...(this.#names.get(reason) ?? []), name]);
    return false;
  }

  /** The same of an authority. One that the user has put in place of ours is theirs to renew. */
  isAuthorityInTime(name: string, commonName: string, certificate: X509Certificate): boolean {
    if (certificate.subject !== `CN=${commonName}`) return true;
    return this.isInTime(name, certificate, minAuthorityValidity);
  }

  /** Returns a sentence for each reason. `folder` has the certificates. */
  texts(folder: string): string[] {
    return [...this.#names].map(
      ([reason, names]) =>
        `certificates in ${folder} were issued anew: ${names.join(", ")} (${reason}; the clock of this machine says ${secondText(this.#now)})`,
    );
  }
}

const secondText = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
