{%- if v.shim %}
            } else if (meta.from_host && headers.shim.isValid()) {
                drop_because({{ v.arch.reason }}DROP_FOREIGN_SHIM);
{%- endif %}
