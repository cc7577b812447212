/** What is inside Bun, and so inside the executables: from Bun's own LICENSE.md, and `process.versions` of BUN_VERSION. */

export interface Part {
  name: string;
  /** Licences whose texts are in licenses/; a part under several others names where they are. */
  licenses: readonly string[];
  source: string;
  /** Who holds the copyright, as its licence says it. */
  copyright?: string;
  /** The commit in Bun's build, where Bun tells it. */
  commit?: string;
}

const github = (path: string) => `https://github.com/${path}`;
const npm = (name: string): Part => ({ name, licenses: ['MIT'], source: `pkg:npm/${name}` });

/** JavaScriptCore comes first: its licence, the LGPL, asks for more than a notice. */
export const BUN_PARTS: readonly Part[] = [
  {
    name: 'JavaScriptCore (WebKit)',
    licenses: ['LGPL-2.0', 'BSD-2-Clause'],
    source: github('oven-sh/WebKit'),
    commit: 'd6375c72affe0f70222cdcb45012b10f0bf3a9d5',
  },
  { name: 'tinycc', licenses: ['LGPL-2.1'], source: github('tinycc/tinycc') },
  {
    name: 'boringssl',
    licenses: [],
    source: 'https://boringssl.googlesource.com/boringssl/+/refs/heads/master/LICENSE',
  },
  {
    name: 'brotli',
    licenses: ['MIT'],
    source: github('google/brotli'),
    copyright: 'Copyright (c) 2013-2015 by the Brotli Authors.',
  },
  { name: 'libarchive', licenses: [], source: github('libarchive/libarchive/blob/master/COPYING') },
  {
    name: 'lol-html',
    licenses: ['BSD-3-Clause'],
    source: github('cloudflare/lol-html'),
    copyright: 'Copyright (C) 2019, Cloudflare, Inc. Copyright (C) 2019, Ivan Nikulin',
  },
  {
    name: 'ls-hpack',
    licenses: ['MIT'],
    source: github('litespeedtech/ls-hpack'),
    copyright: 'Copyright (c) 2018 LiteSpeed Technologies Inc',
  },
  {
    name: 'ls-qpack',
    licenses: ['MIT'],
    source: github('litespeedtech/ls-qpack'),
    copyright: 'Copyright (c) 2018 - 2021 LiteSpeed Technologies Inc',
  },
  {
    name: 'lsquic',
    licenses: ['MIT', 'BSD-3-Clause'],
    source: github('litespeedtech/lsquic'),
    copyright: 'Parts: Copyright 2015 The Chromium Authors. All rights reserved.',
  },
  {
    name: 'mimalloc',
    licenses: ['MIT'],
    source: github('microsoft/mimalloc'),
    copyright: 'Copyright (c) 2018-2021 Microsoft Corporation, Daan Leijen',
  },
  {
    name: 'picohttpparser',
    licenses: ['MIT'],
    source: github('h2o/picohttpparser'),
    copyright: 'Copyright (c) 2009-2014 Kazuho Oku, Tokuhiro Matsuno, Daisuke Murase',
  },
  {
    name: 'zstd',
    licenses: ['BSD-3-Clause'],
    source: github('facebook/zstd'),
    copyright: 'Copyright (c) 2016-2022, Meta Platforms, Inc. and affiliates. All rights reserved.',
  },
  { name: 'simdutf', licenses: ['Apache-2.0'], source: github('simdutf/simdutf') },
  { name: 'uSockets', licenses: ['Apache-2.0'], source: github('uNetworking/uSockets') },
  {
    name: 'zlib-ng',
    licenses: ['Zlib'],
    source: github('zlib-ng/zlib-ng'),
    copyright: '(C) 1995-2025 Jean-loup Gailly and Mark Adler',
  },
  {
    name: 'c-ares',
    licenses: ['MIT'],
    source: github('c-ares/c-ares'),
    copyright: 'Copyright (c) 2007 - 2023, Daniel Stenberg with many contributors, see AUTHORS file.',
  },
  {
    name: 'libicu',
    licenses: ['Unicode'],
    source: github('unicode-org/icu/blob/main/icu4c/LICENSE'),
    copyright: 'Copyright (c) 1991-2017 Unicode, Inc. All rights reserved.',
  },
  {
    name: 'libbase64',
    licenses: ['BSD-2-Clause'],
    source: github('aklomp/base64'),
    copyright:
      'Copyright (c) 2005-2007, Nick Galbreath; 2015-2017, Wojciech Mula; 2016-2017, Matthieu Darbois; 2013-2022, Alfred Klomp',
  },
  {
    name: 'libuv (on Windows)',
    licenses: ['MIT'],
    source: github('libuv/libuv'),
    copyright:
      'Copyright (c) 2015-present libuv project contributors. Copyright Joyent, Inc. and other Node contributors.',
  },
  { name: 'libdeflate', licenses: ['MIT'], source: github('ebiggers/libdeflate') },
  {
    name: 'libjpeg-turbo',
    licenses: ['BSD-3-Clause', 'Zlib'],
    source: github('libjpeg-turbo/libjpeg-turbo/blob/main/LICENSE.md'),
    copyright: 'This software is based in part on the work of the Independent JPEG Group.',
  },
  {
    name: 'libspng',
    licenses: ['BSD-2-Clause'],
    source: github('randy408/libspng'),
    copyright: 'Copyright (c) 2018-2021, Randy <randy408@protonmail.com>',
  },
  { name: 'libwebp', licenses: ['BSD-3-Clause'], source: github('webmproject/libwebp') },
  { name: 'highway', licenses: ['Apache-2.0'], source: github('google/highway') },
  { name: 'uucode', licenses: ['MIT'], source: github('jacobsandlund/uucode') },
  { name: 'uWebSockets', licenses: ['Apache-2.0'], source: github('jarred-sumner/uwebsockets') },
  { name: 'TigerBeetle (parts of its IO code)', licenses: ['Apache-2.0'], source: github('tigerbeetle/tigerbeetle') },
  {
    name: 'LLVM libc++abi (__cxa_thread_atexit)',
    licenses: ['Apache-2.0'],
    source: github('llvm/llvm-project/blob/llvmorg-19.1.0/libcxxabi/src/cxa_thread_atexit.cpp'),
  },
  ...[
    'acorn',
    'acorn-walk',
    'assert',
    'browserify-zlib',
    'buffer',
    'constants-browserify',
    'crypto-browserify',
    'domain-browser',
    'events',
    'https-browserify',
    'os-browserify',
    'path-browserify',
    'process',
    'punycode',
    'querystring-es3',
    'stream-browserify',
    'stream-http',
    'string_decoder',
    'timers-browserify',
    'tty-browserify',
    'url',
    'util',
    'vm-browserify',
  ].map(npm),
];
