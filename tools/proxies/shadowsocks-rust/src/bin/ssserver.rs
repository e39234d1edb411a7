// SPDX-License-Identifier: MIT

//! `ssserver` of shadowsocks-rust, with the features that gateways need.

use std::process::ExitCode;

use clap::Command;
use shadowsocks_rust::{VERSION, service::server};

fn main() -> ExitCode {
    let options = server::define_command_line_options(Command::new("ssserver").version(VERSION));
    server::main(&options.get_matches())
}
