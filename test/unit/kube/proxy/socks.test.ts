/** The errors of the package `socks` have no codes: this file has our message for each of them. */
import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, test } from 'node:test';
import { socksConnect } from '../../../../src/kube/proxy/socks.ts';

const NO_LOGIN = { username: '', password: '' };
const LOGIN = { username: 'me', password: 'secret' };
const TARGET = { host: 'api.example', port: 6443 };

/** A proxy that answers what is written to it with these pieces, one for each, and then closes. */
function answering(...answers: number[][]): Duplex {
  const socket: Duplex = new Duplex({
    read() {},
    write(_bytes, _encoding, done) {
      const answer = answers.shift();
      setImmediate(() => (answer === undefined ? socket.destroy() : socket.push(Buffer.from(answer))));
      done();
    },
  });
  return socket;
}

const refusing = (code: number) => [
  [5, 0],
  [5, code, 0, 1, 0, 0, 0, 0, 0, 0],
];

describe('describes the answer of a proxy in words that follow its name', () => {
  const cases: [message: string, answers: number[][]][] = [
    ['it closed the connection', []],
    ['it does not speak SOCKS5', [[72, 84]]],
    ['it does not speak SOCKS5', [[5, 2, 1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]]],
    ['it requires a login: a name and a password, or an unsupported method', [[5, 255]]],
    ['it requires a login: a name and a password, or an unsupported method', [[5, 1]]],
    [
      'it does not accept the name and password',
      [
        [5, 2],
        [1, 1],
      ],
    ],
    ['general failure', refusing(1)],
    ['its rules do not allow this connection', refusing(2)],
    ['the network is unreachable', refusing(3)],
    ['the host is unreachable', refusing(4)],
    ['connection refused', refusing(5)],
    ['the time to live expired', refusing(6)],
    ['it does not support CONNECT', refusing(7)],
    ['it does not support that type of address', refusing(8)],
    ['it refused with an unknown code', refusing(9)],
  ];
  test('no answer within 30 s', async t => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const silent = new Duplex({ read() {}, write: (_bytes, _encoding, done) => done() });
    const connecting = socksConnect(silent, LOGIN, TARGET);
    t.mock.timers.tick(30_000);
    await assert.rejects(connecting, { message: 'no answer within 30 s' });
  });

  for (const [message, answers] of cases) {
    test(`${JSON.stringify(answers)}: ${message}`, async () => {
      await assert.rejects(socksConnect(answering(...answers), LOGIN, TARGET), error => {
        assert.equal((error as Error).message, message);
        assert.equal((error as Error).cause, undefined, 'the cause would hold the password');
        return true;
      });
    });
  }
});

test('refuses a name or password of more than 255 bytes', async () => {
  const long = 'a'.repeat(256);
  for (const login of [
    { ...LOGIN, username: long },
    { ...LOGIN, password: long },
  ]) {
    await assert.rejects(socksConnect(answering(), login, TARGET), {
      message: 'its name or password has more than 255 bytes',
    });
  }
  await assert.rejects(socksConnect(answering(), NO_LOGIN, { ...TARGET, host: long }), {
    message: "the server's name has more than 255 bytes",
  });
});
