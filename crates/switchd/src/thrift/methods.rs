//! Every method of the interface, by service and name.

use thrift::{ApplicationError, ApplicationErrorKind};

use super::value::{Fields, Value};
use super::{Call, Fault, Outcome, arrays, config, ports, profiles, replication, tables};

/// What goes back.
pub(super) enum Answer {
    /// The result of a method, or its exception.
    Result(Fields),
    /// The call itself failed.
    Exception(ApplicationError),
}

impl Answer {
    /// A call that failed.
    pub(super) fn error(why: impl Into<String>) -> Self {
        Self::Exception(ApplicationError::new(
            ApplicationErrorKind::InternalError,
            why,
        ))
    }
}

/// A method.
struct Method {
    service: &'static str,
    name: &'static str,
    /// Whether its first argument is the context.
    context: bool,
    /// Whether it has an exception of its own.
    throws: bool,
    run: fn(&Call<'_>) -> Outcome,
}

macro_rules! methods {
    ($($service:literal $context:literal $throws:literal { $($name:ident => $run:path,)* })*) => {
        &[$($(Method {
            service: $service,
            name: stringify!($name),
            context: $context,
            throws: $throws,
            run: $run,
        },)*)*]
    };
}

/// The methods. The two words after a service say whether its methods take a context and have an
/// exception.
const METHODS: &[Method] = methods! {
    "standard" true true {
        bm_mt_get_num_entries => tables::num_entries,
        bm_mt_clear_entries => tables::clear_entries,
        bm_mt_add_entry => tables::add_entry,
        bm_mt_set_default_action => tables::set_default_action,
        bm_mt_reset_default_entry => tables::reset_default_entry,
        bm_mt_delete_entry => tables::delete_entry,
        bm_mt_modify_entry => tables::modify_entry,
        bm_mt_set_entry_ttl => tables::set_entry_ttl,
        bm_mt_act_prof_add_member => profiles::add_member,
        bm_mt_act_prof_delete_member => profiles::delete_member,
        bm_mt_act_prof_modify_member => profiles::modify_member,
        bm_mt_act_prof_create_group => profiles::create_group,
        bm_mt_act_prof_delete_group => profiles::delete_group,
        bm_mt_act_prof_add_member_to_group => profiles::add_member_to_group,
        bm_mt_act_prof_remove_member_from_group => profiles::remove_member_from_group,
        bm_mt_act_prof_get_members => profiles::members,
        bm_mt_act_prof_get_member => profiles::member,
        bm_mt_act_prof_get_groups => profiles::groups,
        bm_mt_act_prof_get_group => profiles::group,
        bm_mt_indirect_add_entry => tables::indirect_add_entry,
        bm_mt_indirect_modify_entry => tables::indirect_modify_entry,
        bm_mt_indirect_delete_entry => tables::indirect_delete_entry,
        bm_mt_indirect_set_entry_ttl => tables::indirect_set_entry_ttl,
        bm_mt_indirect_set_default_member => tables::set_default_member,
        bm_mt_indirect_reset_default_entry => tables::indirect_reset_default_entry,
        bm_mt_indirect_ws_add_entry => tables::selector_add_entry,
        bm_mt_indirect_ws_modify_entry => tables::selector_modify_entry,
        bm_mt_indirect_ws_set_default_group => tables::set_default_group,
        bm_mt_read_counter => tables::read_counter,
        bm_mt_reset_counters => tables::reset_counters,
        bm_mt_write_counter => tables::write_counter,
        bm_mt_set_meter_rates => tables::set_meter_rates,
        bm_mt_get_meter_rates => tables::meter_rates,
        bm_mt_get_entries => tables::entries,
        bm_mt_get_entry => tables::entry,
        bm_mt_get_default_entry => tables::default_entry,
        bm_mt_get_entry_from_key => tables::entry_from_key,
        bm_counter_read => arrays::read_counter,
        bm_counter_reset_all => arrays::reset_counter,
        bm_counter_write => arrays::write_counter,
        bm_learning_ack => config::learning_ack,
        bm_learning_ack_buffer => config::learning_ack,
        bm_learning_set_timeout => config::learning_set,
        bm_learning_set_buffer_size => config::learning_set,
        bm_meter_array_set_rates => arrays::set_all_rates,
        bm_meter_set_rates => arrays::set_rates,
        bm_meter_get_rates => arrays::rates,
        bm_register_read => arrays::read_register,
        bm_register_read_all => arrays::read_registers,
        bm_register_write => arrays::write_register,
        bm_register_write_range => arrays::write_registers,
        bm_register_reset => arrays::reset_register,
        bm_parse_vset_add => arrays::add_to_value_set,
        bm_parse_vset_remove => arrays::remove_from_value_set,
        bm_parse_vset_get => arrays::value_set,
        bm_parse_vset_clear => arrays::clear_value_set,
        bm_set_crc16_custom_parameters => config::set_crc16,
        bm_set_crc32_custom_parameters => config::set_crc32,
        bm_set_toeplitz_hash_key => config::set_toeplitz,
        bm_get_id_from_name => config::id_from_name,
    }
    "standard" false true {
        bm_load_new_config => config::load_new_config,
        bm_swap_configs => config::swap_configs,
        bm_dev_mgr_add_port => ports::add,
        bm_dev_mgr_remove_port => ports::remove,
        bm_dev_mgr_show_ports => ports::show,
    }
    "standard" false false {
        bm_mgmt_get_info => config::info,
        bm_reset_state => config::reset_state,
        bm_get_config => config::config,
        bm_get_config_md5 => config::config_md5,
        bm_serialize_state => config::serialize_state,
    }
    "simple_pre_lag" true true {
        bm_mc_mgrp_create => replication::create_group,
        bm_mc_mgrp_destroy => replication::destroy_group,
        bm_mc_node_create => replication::create_node_with_lags,
        bm_mc_node_associate => replication::associate,
        bm_mc_node_dissociate => replication::dissociate,
        bm_mc_node_destroy => replication::destroy_node,
        bm_mc_node_update => replication::update_node_with_lags,
        bm_mc_set_lag_membership => replication::set_lag_membership,
        bm_mc_get_entries => replication::entries,
    }
    "simple_pre" true true {
        bm_mc_mgrp_create => replication::create_group,
        bm_mc_mgrp_destroy => replication::destroy_group,
        bm_mc_node_create => replication::create_node,
        bm_mc_node_associate => replication::associate,
        bm_mc_node_dissociate => replication::dissociate,
        bm_mc_node_destroy => replication::destroy_node,
        bm_mc_node_update => replication::update_node,
        bm_mc_get_entries => replication::entries,
    }
    "simple_switch" false true {
        mirroring_session_add => replication::add_session,
        mirroring_session_delete => replication::delete_session,
        mirroring_session_get => replication::session,
    }
    "simple_switch" false false {
        mirroring_mapping_add => replication::add_mapping,
        mirroring_mapping_delete => replication::delete_mapping,
        mirroring_mapping_get_egress_port => replication::mapping,
        set_egress_priority_queue_depth => ports::set_priority_depth,
        set_egress_queue_depth => ports::set_depth,
        set_all_egress_queue_depths => ports::set_all_depths,
        set_egress_priority_queue_rate => ports::set_priority_rate,
        set_egress_queue_rate => ports::set_rate,
        set_all_egress_queue_rates => ports::set_all_rates,
        get_time_elapsed_us => ports::time_elapsed,
        get_time_since_epoch_us => ports::time_since_epoch,
    }
};

/// Service and name of every method.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    METHODS.iter().map(|method| (method.service, method.name))
}

/// Makes a call: `name` is the service and the method, with a colon between.
pub(super) fn call(name: &str, call: &Call<'_>) -> Answer {
    let found = name.split_once(':').and_then(|(service, name)| {
        METHODS
            .iter()
            .find(|method| method.service == service && method.name == name)
    });
    let Some(method) = found else {
        return Answer::Exception(ApplicationError::new(
            ApplicationErrorKind::UnknownMethod,
            format!("there is no method {name}; write SERVICE:METHOD"),
        ));
    };
    let made = match (method.context, call.args.i32(1)) {
        (true, Ok(context)) if context != 0 => Err(Fault::Application(format!(
            "there is no context {context}; a switch has one, 0"
        ))),
        _ => (method.run)(call),
    };
    match made {
        Ok(value) => Answer::Result(Fields::of(value.map(|value| (0, value)))),
        Err(Fault::Code(code)) => thrown(method, code, None),
        Err(Fault::Refused(code, why)) => thrown(method, code, Some(why)),
        Err(Fault::Application(why)) => {
            tracing::info!(method = method.name, why, "a Thrift call failed");
            Answer::error(why)
        }
    }
}

/// The exception of a method. The interface has no words for a reason: the log has.
fn thrown(method: &Method, code: i32, why: Option<String>) -> Answer {
    if let Some(why) = &why {
        tracing::info!(method = method.name, code, why, "a Thrift call was refused");
    }
    if !method.throws {
        return Answer::error(why.unwrap_or_else(|| format!("refused with code {code}")));
    }
    let exception = Value::structure([(1, Value::I32(code))]);
    Answer::Result(Fields::of([(1, exception)]))
}
