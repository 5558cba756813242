import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { debianBinary } from './debian-binary.ts'
import { startServerProcess } from './server-process.ts'

export interface TestNginx {
  /** Other settings, as by `nginx -s reload`. Connections under the old ones end within a second. */
  reload(http: string): Promise<void>
  stop(): Promise<void>
}

export interface TestNginxOptions {
  /** One of the ports that it will listen on. */
  port: number
  /** What goes into its `http` block. A certificate and its key, if given, are beside it as `cert.pem` and `key.pem`. */
  http: string
  certificate?: { cert: string; key: string }
}

/**
 * An nginx of its own, as Debian ships it.
 *
 * @example
 * const nginx = await startTestNginx({ port, http: `server { listen 127.0.0.1:${port}; }` })
 * afterAll(nginx.stop)
 */
export async function startTestNginx({ port, http, certificate }: TestNginxOptions): Promise<TestNginx> {
  const binary = await debianBinary({ binary: 'nginx', package: 'nginx' })
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-nginx-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const write = (inside: string) => writeFile(join(folder, 'nginx.conf'), settingsOf(folder, inside))
  try {
    // As root its workers run as another user, who must be able to enter.
    await chmod(folder, 0o755)
    if (certificate) {
      await writeFile(join(folder, 'cert.pem'), certificate.cert)
      await writeFile(join(folder, 'key.pem'), certificate.key)
    }
    await write(http)
    const server = await startServerProcess({
      binary,
      port,
      args: ['-p', folder, '-c', join(folder, 'nginx.conf')],
      // Killed, it would leave its workers behind.
      signalOnExit: 'SIGTERM',
    })
    return {
      async reload(inside) {
        await write(inside)
        process.kill(server.pid, 'SIGHUP')
      },
      async stop() {
        await server.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

function settingsOf(folder: string, http: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr error;
worker_processes 2;
worker_shutdown_timeout 1s;
events { worker_connections 4096; }
http {
  access_log off;
  ${kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n  ')}
  ${http}
}
`
}
