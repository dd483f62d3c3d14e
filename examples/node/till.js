// A fixture: one sandbox for each worker of a test runner. No worker sees what another does, so no test has to reset
// anything, and as many run side by side as the machine has room for. It needs Node.js 20, and till in the PATH.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Starts a sandbox on a free port, with options of till sandbox serve. Returns its url, its key, and stop, which ends
 * it and deletes its state.
 */
export async function startSandbox(...options) {
  const till = spawn('till', ['sandbox', 'serve', '-o', 'jsonl', ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(till, 'close') // rejects if there is no till in the PATH
  const [line] = await Promise.race([once(createInterface(till.stdout), 'line'), ended])
  if (typeof line !== 'string') throw new Error(`till sandbox serve ended with ${line}`)
  const { base_url: url, api_key: key } = JSON.parse(line)
  const stop = async () => {
    till.kill()
    await ended
  }
  return { url, key, stop }
}
