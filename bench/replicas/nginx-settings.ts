import { readFile } from 'node:fs/promises'

export interface NginxPlaces {
  /** Where the replicas listen: three of them, as in the guide. */
  replicas: readonly number[]
  /** For the settings of the guide, with TLS. */
  port: number
  /** For nginx's own defaults. */
  plainPort: number
}

const GUIDE = new URL('../../docs/OPERATIONS.md', import.meta.url)

/**
 * What the guide recommends, read from the guide, with our addresses in place of its own; and beside it a server that
 * has nothing but `proxy_pass`.
 */
export async function nginxSettings({ replicas, port, plainPort }: NginxPlaces): Promise<string> {
  const [, recommended] = /```nginx\n([\s\S]*?)```/.exec(await readFile(GUIDE, 'utf8')) ?? []
  if (!recommended) throw new Error('docs/OPERATIONS.md has no settings for nginx.')
  const changes: [from: string, to: string][] = [
    ...replicas.map((own, n): [string, string] => [`10.0.0.${n + 1}:8787`, `127.0.0.1:${own}`]),
    ['listen 443 ', `listen 127.0.0.1:${port} `],
    ['api.example.com;', 'localhost;'],
    ['/etc/ssl/certs/api.example.com.pem', 'cert.pem'],
    ['/etc/ssl/private/api.example.com.key', 'key.pem'],
  ]
  const settings = changes.reduce((text, [from, to]) => {
    if (text.split(from).length !== 2) throw new Error(`“${from}” is not once in the settings of the guide.`)
    return text.replace(from, to)
  }, recommended)
  return `${settings}
server {
  listen 127.0.0.1:${plainPort};
  location / { proxy_pass http://holdfast; }
}`
}
