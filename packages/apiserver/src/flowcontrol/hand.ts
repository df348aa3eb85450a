import { createHash } from "node:crypto";

/**
 * Returns the queues of a flow (shuffle sharding): a small subset, so that two flows rarely have the same
 * ones.
 *
 * Upstream: apiserver/pkg/util/shufflesharding, Dealer; apf_controller.go, hashFlowID
 */
export function handOf(
  flowSchema: string,
  distinguisher: string,
  { queues, handSize }: { readonly queues: number; readonly handSize: number },
): readonly number[] {
  const digest = createHash("sha256").update(`${flowSchema}\0${distinguisher}`).digest();
  let entropy = digest.readBigUInt64LE();
  const hand: number[] = [];
  for (let dealt = 0; dealt < handSize; dealt++) {
    const remaining = BigInt(queues - dealt);
    let card = Number(entropy % remaining);
    entropy /= remaining;
    // Counts only queues that have not been dealt.
    for (const index of hand.toSorted((a, b) => a - b)) if (card >= index) card++;
    hand.push(card);
  }
  return hand;
}
