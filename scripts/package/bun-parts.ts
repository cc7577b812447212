/**
 * The third-party parts of Bun, and so of the executables. Sources: Bun's LICENSE.md, `process.versions` of
 * BUN_VERSION, and the parts themselves where these two are incomplete.
 */

export interface Part {
  name: string;
  /** An SPDX expression; the text of each licence in it is in licenses/. */
  license: string;
  source: string;
  /** The copyright notice of the licence. */
  copyright: string;
  /** The key of `process.versions` and its value, where Bun reports the version. */
  version?: readonly [key: string, value: string];
}

const github = (path: string) => `https://github.com/${path}`;
const npm = (name: string, copyright: string, license = 'MIT'): Part => ({
  name,
  license,
  source: `https://www.npmjs.com/package/${name}`,
  copyright,
});

const NODE = 'Copyright Joyent, Inc. and other Node contributors. All rights reserved.';
const HALLIDAY = 'Copyright (c) James Halliday';

/** JavaScriptCore comes first: its licence, the LGPL, requires more than a notice. */
export const BUN_PARTS: readonly Part[] = [
  {
    name: 'JavaScriptCore (WebKit)',
    license: 'LGPL-2.0-or-later AND BSD-2-Clause',
    source: github('oven-sh/WebKit'),
    copyright: 'Copyright (c) 1999-2001 Harri Porten, 2001 Peter Kelly, 2003-2026 Apple Inc. and others',
    version: ['webkit', 'd6375c72affe0f70222cdcb45012b10f0bf3a9d5'],
  },
  {
    name: 'tinycc',
    license: 'LGPL-2.1-or-later',
    source: github('tinycc/tinycc'),
    copyright: 'Copyright (c) 2001-2004 Fabrice Bellard and others',
    version: ['tinycc', '05f0fafaa3be31e31d7b4b5c17dc60f62c991171'],
  },
  {
    // Its older files are under the other three licences.
    name: 'boringssl',
    license: 'Apache-2.0 AND ISC AND MIT AND OpenSSL',
    source: 'https://boringssl.googlesource.com/boringssl',
    copyright:
      'Copyright (c) The BoringSSL Authors, The OpenSSL Project Authors; 2015 Google Inc.; 2015-2020 the fiat-crypto authors',
    version: ['boringssl', 'fe703e9faa3bfd22b04eb192066856557b7e015c'],
  },
  {
    name: 'brotli',
    license: 'MIT',
    source: github('google/brotli'),
    copyright: 'Copyright (c) 2009, 2010, 2013-2016 by the Brotli Authors.',
  },
  {
    // BLAKE2 may be used under one of three licences; this one is already included.
    name: 'libarchive',
    license: 'BSD-2-Clause AND BSD-3-Clause AND Apache-2.0',
    source: github('libarchive/libarchive'),
    copyright:
      'Copyright (c) 2003-2018 Tim Kientzle and others; parts: The Regents of the University of California; BLAKE2: 2012 Samuel Neves',
    version: ['libarchive', '27cbc7827172698143e440801fc0ba39ccb4f1f5'],
  },
  {
    name: 'lol-html',
    license: 'BSD-3-Clause',
    source: github('cloudflare/lol-html'),
    copyright: 'Copyright (C) 2019, Cloudflare, Inc. Copyright (C) 2019, Ivan Nikulin',
    version: ['lolhtml', '725ce499aa9b71e38b7a2d0a9fbb6d7294a4079e'],
  },
  {
    name: 'ls-hpack',
    license: 'MIT',
    source: github('litespeedtech/ls-hpack'),
    copyright: 'Copyright (c) 2018 LiteSpeed Technologies Inc',
    version: ['lshpack', 'cf0f70dd10b352194c97448eb5d00b4aa484f531'],
  },
  {
    name: 'ls-qpack',
    license: 'MIT',
    source: github('litespeedtech/ls-qpack'),
    copyright: 'Copyright (c) 2018 - 2021 LiteSpeed Technologies Inc',
  },
  {
    name: 'lsquic',
    license: 'MIT AND BSD-3-Clause',
    source: github('litespeedtech/lsquic'),
    copyright:
      'Copyright (c) 2017 - 2021 LiteSpeed Technologies Inc; parts: Copyright 2015 The Chromium Authors. All rights reserved.',
  },
  {
    name: 'mimalloc',
    license: 'MIT',
    source: github('microsoft/mimalloc'),
    copyright: 'Copyright (c) 2018-2021 Microsoft Corporation, Daan Leijen',
    version: ['mimalloc', '92ef6587c57b262f6e6abf513f7776a2f8d12aeb'],
  },
  {
    name: 'picohttpparser',
    license: 'MIT',
    source: github('h2o/picohttpparser'),
    copyright: 'Copyright (c) 2009-2014 Kazuho Oku, Tokuhiro Matsuno, Daisuke Murase',
    version: ['picohttpparser', 'f4d94b48b31e0abae029ebeafcfd9ca0680ede58'],
  },
  {
    name: 'llhttp',
    license: 'MIT',
    source: github('nodejs/llhttp'),
    copyright: 'Copyright Fedor Indutny, 2018.',
    version: ['llhttp', '9.4.4'],
  },
  {
    name: 'zstd',
    license: 'BSD-3-Clause',
    source: github('facebook/zstd'),
    copyright: 'Copyright (c) Meta Platforms, Inc. and affiliates. All rights reserved.',
    version: ['zstd', 'f8745da6ff1ad1e7bab384bd1f9d742439278e99'],
  },
  {
    name: 'simdutf',
    license: 'Apache-2.0',
    source: github('simdutf/simdutf'),
    copyright: 'Copyright 2021 The simdutf authors',
  },
  {
    name: 'uSockets',
    license: 'Apache-2.0',
    source: github('uNetworking/uSockets'),
    copyright: 'Copyright 2018-2021 Alex Hultman and contributors',
    version: ['usockets', 'a7733435cf40429e3b35c36072769df2052b80f1'],
  },
  {
    name: 'uWebSockets',
    license: 'Apache-2.0',
    source: github('jarred-sumner/uwebsockets'),
    copyright: 'Copyright 2016-2021 Alex Hultman and contributors',
    version: ['uwebsockets', 'a7733435cf40429e3b35c36072769df2052b80f1'],
  },
  {
    name: 'zlib-ng',
    license: 'Zlib',
    source: github('zlib-ng/zlib-ng'),
    copyright: '(C) 1995-2025 Jean-loup Gailly and Mark Adler',
    version: ['zlib', '12731092979c6d07f42da27da673a9f6c7b13586'],
  },
  {
    name: 'c-ares',
    license: 'MIT',
    source: github('c-ares/c-ares'),
    copyright:
      'Copyright (c) 1998 Massachusetts Institute of Technology; 2007 - 2023 Daniel Stenberg with many contributors, see AUTHORS file.',
    version: ['ares', '0b88066f79ac9745d6819899f1794df91b73c873'],
  },
  {
    name: 'libicu',
    license: 'Unicode-3.0',
    source: github('unicode-org/icu'),
    copyright: 'Copyright © 2016-2025 Unicode, Inc.',
    version: ['icu', '78.3'],
  },
  {
    name: 'sqlite',
    license: 'blessing',
    source: 'https://sqlite.org/src',
    copyright: 'None: it is in the public domain',
    version: ['sqlite', '3.54.1'],
  },
  {
    name: 'libbase64',
    license: 'BSD-2-Clause',
    source: github('aklomp/base64'),
    copyright:
      'Copyright (c) 2005-2007, Nick Galbreath; 2015-2017, Wojciech Mula; 2016-2017, Matthieu Darbois; 2013-2022, Alfred Klomp',
  },
  {
    name: 'libuv (on Windows)',
    license: 'MIT AND ISC AND BSD-2-Clause',
    source: github('libuv/libuv'),
    copyright:
      'Copyright (c) 2015-present libuv project contributors; Joyent, Inc. and other Node contributors; Niels Provos; Internet Systems Consortium, Inc.',
    version: ['uv', '1.48.0'],
  },
  {
    name: 'libdeflate',
    license: 'MIT',
    source: github('ebiggers/libdeflate'),
    copyright: 'Copyright 2016 Eric Biggers; 2017 Jun He',
    version: ['libdeflate', '92e6a0db9fa848d742f9eb286c92afc60f2c3dda'],
  },
  {
    name: 'libjpeg-turbo',
    license: 'IJG AND BSD-3-Clause AND Zlib',
    source: github('libjpeg-turbo/libjpeg-turbo'),
    copyright:
      'This software is based in part on the work of the Independent JPEG Group. Copyright (c) 2009-2026 D. R. Commander and others',
  },
  {
    name: 'libspng',
    license: 'BSD-2-Clause',
    source: github('randy408/libspng'),
    copyright: 'Copyright (c) 2018-2021, Randy <randy408@protonmail.com>',
  },
  {
    name: 'libwebp',
    license: 'BSD-3-Clause',
    source: github('webmproject/libwebp'),
    copyright: 'Copyright (c) 2010, Google Inc. All rights reserved.',
  },
  {
    name: 'highway',
    license: 'Apache-2.0',
    source: github('google/highway'),
    copyright: 'Copyright (c) The Highway Project Authors. All rights reserved.',
  },
  {
    name: 'uucode',
    license: 'MIT',
    source: github('jacobsandlund/uucode'),
    copyright: 'Copyright (c) Jacob Sandlund',
  },
  {
    name: 'TigerBeetle (parts of its IO code)',
    license: 'Apache-2.0',
    source: github('tigerbeetle/tigerbeetle'),
    copyright: 'Copyright TigerBeetle, Inc.',
  },
  {
    name: 'LLVM libc++abi (__cxa_thread_atexit)',
    license: 'Apache-2.0 WITH LLVM-exception',
    source: github('llvm/llvm-project/blob/llvmorg-19.1.0/libcxxabi/src/cxa_thread_atexit.cpp'),
    copyright: 'Copyright (c) the LLVM Project contributors',
  },
  {
    name: 'esbuild (its transpiler, in another language)',
    license: 'MIT',
    source: github('evanw/esbuild'),
    copyright: 'Copyright (c) 2020 Evan Wallace',
  },
  npm('acorn', 'Copyright (C) 2012-2022 by various contributors (see AUTHORS)'),
  npm('acorn-walk', 'Copyright (C) 2012-2020 by various contributors (see AUTHORS)'),
  npm('assert', NODE),
  npm('browserify-zlib', `Copyright (c) 2014-2015 Devon Govett. ${NODE}`),
  npm('buffer', 'Copyright (c) Feross Aboukhadijeh, and other contributors.'),
  npm('constants-browserify', 'Copyright (c) Julian Gruber'),
  npm('crypto-browserify', 'Copyright (c) 2013 Dominic Tarr'),
  // Bun's list says MIT; the package, in the version that Bun uses, says this.
  npm('domain-browser', 'Copyright (c) Benjamin Lupton', 'Artistic-2.0'),
  npm('events', NODE),
  npm('https-browserify', HALLIDAY),
  npm('os-browserify', 'Copyright (c) 2017 CoderPuppy'),
  npm('path-browserify', `${HALLIDAY}, 2013`),
  npm('process', 'Copyright (c) 2013 Roman Shtylman'),
  npm('punycode', 'Copyright Mathias Bynens'),
  npm('querystring-es3', 'Copyright 2012 Irakli Gozalishvili. All rights reserved.'),
  npm('stream-browserify', HALLIDAY),
  npm('stream-http', 'Copyright (c) 2015 John Hiesey'),
  npm('string_decoder', NODE),
  npm('timers-browserify', `Copyright (c) 2012 J. Ryan Stinnett. ${NODE}`),
  npm('tty-browserify', HALLIDAY),
  npm('url', 'Copyright 2014 Joyent, Inc. and other Node contributors.'),
  npm('util', NODE),
  npm('vm-browserify', HALLIDAY),
];
