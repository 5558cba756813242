import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { debianBinary } from './debian-binary.ts'
import { freePort } from './free-port.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

export interface TestRadosgw {
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
  /** Without a word, as when the machine fails. What was stored is kept by the servers behind it. */
  kill(): Promise<void>
  /** After `kill`, on the same port. */
  start(): Promise<void>
  stop(): Promise<void>
}

const run = promisify(execFile)

/**
 * A real S3: the gateway of Ceph, in front of one monitor and one storage daemon that keeps everything in memory.
 * Nothing is replicated and nobody has to sign in to the daemons; S3 itself checks signatures as always.
 *
 * @example
 * const s3 = await startTestRadosgw()
 * afterAll(s3.stop)
 */
export async function startTestRadosgw(): Promise<TestRadosgw> {
  // One after the other: only one package can be installed at a time.
  const ceph = await debianBinary({ binary: 'ceph', package: 'ceph-common' })
  const cephMon = await debianBinary({ binary: 'ceph-mon', package: 'ceph-mon' })
  const cephOsd = await debianBinary({ binary: 'ceph-osd', package: 'ceph-osd' })
  const radosgw = await debianBinary({ binary: 'radosgw', package: 'radosgw' })
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-ceph-'))
  const [monPort, osdPort, port] = [await freePort(), await freePort(), await freePort()]
  const accessKeyId = 'holdfast-tests'
  const secretAccessKey = 'the secret key of these tests'
  const conf = join(folder, 'ceph.conf')
  const monmap = join(folder, 'monmap')
  const servers: ServerProcess[] = []

  const tool = (binary: string, ...args: string[]) => run(binary, ['-c', conf, ...args], { timeout: 60_000 })
  /** A monitor that is just taking up a new daemon refuses to say which commands it knows: then nothing was done. */
  async function tellMonitor(...args: string[]): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        await tool(ceph, ...args)
        return
      } catch (error) {
        if (!String(error).includes('problem getting command descriptions') || tries === 5) throw error
      }
    }
  }
  const launchGateway = () =>
    startServerProcess({ binary: radosgw, args: ['-f', '-c', conf, '-n', 'client.rgw'], port })

  async function stop(): Promise<void> {
    // What they know dies with them, so there is nothing to end in good order.
    await Promise.all(servers.map((server) => server.stop('SIGKILL')))
    await rm(folder, { recursive: true, force: true })
  }

  try {
    await Promise.all(['mon', 'osd', 'rgw', 'run'].map((name) => mkdir(join(folder, name))))
    await writeFile(conf, configuration({ monPort, osdPort, port, folder }))
    await run('monmaptool', ['--create', '--fsid', FSID, '--addv', 'a', `[v1:127.0.0.1:${monPort}]`, monmap])
    await tool(cephMon, '--mkfs', '-i', 'a', '--monmap', monmap)
    servers.push(
      await startServerProcess({ binary: cephMon, args: ['-f', '-c', conf, '-i', 'a'], port: monPort }),
    )
    await tellMonitor('osd', 'create')
    await tool(cephOsd, '--mkfs', '-i', '0')
    servers.push(
      await startServerProcess({ binary: cephOsd, args: ['-f', '-c', conf, '-i', '0'], port: osdPort }),
    )
    await tellMonitor('osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=localhost')
    let gateway = await launchGateway()
    const user = ['--uid', 'tests', '--display-name', 'tests']
    const keys = ['--access-key', accessKeyId, '--secret-key', secretAccessKey]
    await tool('radosgw-admin', 'user', 'create', ...user, ...keys)
    return {
      endpoint: `http://127.0.0.1:${port}`,
      accessKeyId,
      secretAccessKey,
      kill: () => gateway.stop('SIGKILL'),
      async start() {
        gateway = await launchGateway()
      },
      async stop() {
        await gateway.stop('SIGKILL')
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

const FSID = '5b8a3c1e-0b7a-4f0e-9d7e-6d2f4f1c7a10'

/**
 * Smallest and quickest, with three that are not obvious. Paxos collects changes for a second before it proposes them,
 * and a new gateway makes a dozen. A gateway that was killed counts as listening until the watch times out, and others
 * wait for its answer so long. And a daemon that tells its device class at the start may do so before it knows the
 * monitors, is refused for that and ends.
 */
function configuration(where: { monPort: number; osdPort: number; port: number; folder: string }): string {
  const { monPort, osdPort, port, folder } = where
  return `
[global]
fsid = ${FSID}
mon_host = [v1:127.0.0.1:${monPort}]
ms_bind_msgr2 = false
public_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
osd_pool_default_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_data = ${folder}/mon
osd_data = ${folder}/osd
run_dir = ${folder}/run
admin_socket =
pid_file =
log_file =
log_to_stderr = true
err_to_stderr = true
mon_cluster_log_to_stderr = false
mon_cluster_log_file =

[mon]
mon_data_avail_warn = 1
mon_data_avail_crit = 0
paxos_propose_interval = 0.01
paxos_min_wait = 0.01

[osd]
osd_objectstore = memstore
osd_crush_chooseleaf_type = 0
osd_client_watch_timeout = 1
osd_crush_update_on_start = false
osd_class_update_on_start = false
memstore_device_bytes = 2147483648
ms_bind_port_min = ${osdPort}
ms_bind_port_max = ${osdPort + 100}

[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:${port}
rgw_data = ${folder}/rgw
rgw_enable_usage_log = false
rgw_enable_gc_threads = true
`
}
