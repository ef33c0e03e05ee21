
                                    if (meta.ways != 0) {
                                        way.apply();
                                    }
