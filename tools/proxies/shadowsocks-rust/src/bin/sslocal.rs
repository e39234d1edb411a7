// SPDX-License-Identifier: MIT

//! `sslocal` of shadowsocks-rust, with the features that gateways need.

use std::process::ExitCode;

use clap::Command;
use shadowsocks_rust::{VERSION, service::local};

fn main() -> ExitCode {
    let options = local::define_command_line_options(Command::new("sslocal").version(VERSION));
    local::main(&options.get_matches())
}
