/** Tries an assertion until it holds; rejects with its last error after some seconds. */
export async function eventually(check: () => Promise<void>, milliseconds = 30_000): Promise<void> {
  for (const end = Date.now() + milliseconds; ; ) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
